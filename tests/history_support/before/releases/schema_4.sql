BEGIN TRANSACTION;
CREATE TABLE alarm_events (
        id TEXT NOT NULL PRIMARY KEY,
        workload TEXT NOT NULL,
        at_us INTEGER NOT NULL,
        alarm TEXT NOT NULL,
        action TEXT NOT NULL,
        author TEXT NOT NULL,
        event TEXT NOT NULL
    );
INSERT INTO "alarm_events" VALUES('6a15ea64fb6a5b11d7246b8d4321fed4','encoder_bench',1795348792295002,'3a4a0e6c7115','raised','matbench','{"alarm":"3a4a0e6c7115","action":"raised","at_us":1795348792295002,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"1B_cost","unit":"USD","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":1,"vus":8,"inputs_per_request":1},"series":"batch_size 1","first_bad":"1.2.5","last_good":"1.2.4","old_level":37.759853506139486,"new_level":50.73541482015073}}');
INSERT INTO "alarm_events" VALUES('b82b282d55770560aa39eca77f760355','encoder_bench',1795348797380686,'7df01de8dc21','raised','matbench','{"alarm":"7df01de8dc21","action":"raised","at_us":1795348797380686,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"avg_latency","unit":"ms","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":1,"vus":8,"inputs_per_request":1},"series":"batch_size 1","first_bad":"1.3.4","last_good":"1.3.3","old_level":32.374092541805396,"new_level":41.929050621826505}}');
INSERT INTO "alarm_events" VALUES('d6c70c6f1ccbd24b90b9ade8cf75645d','encoder_bench',1795348797380686,'23bd54779b02','raised','matbench','{"alarm":"23bd54779b02","action":"raised","at_us":1795348797380686,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"p95_latency","unit":"ms","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":40.86893086208333,"new_level":45.69263935833333}}');
INSERT INTO "alarm_events" VALUES('4e18c6e64c5086249a681b529032b6d8','encoder_bench',1795348797380686,'c3bb03deb9e8','raised','matbench','{"alarm":"c3bb03deb9e8","action":"raised","at_us":1795348797380686,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"avg_latency","unit":"ms","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":29.373779621163596,"new_level":32.82322388821473}}');
INSERT INTO "alarm_events" VALUES('053e6474873850399bff45b09f1c0edb','encoder_bench',1795348797380686,'b61e3972bb08','raised','matbench','{"alarm":"b61e3972bb08","action":"raised","at_us":1795348797380686,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"1B_cost","unit":"USD","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":34.45259173873505,"new_level":38.42952567223735}}');
INSERT INTO "alarm_events" VALUES('1334e4ca5c6af0dc8f5dec16c6a3efdf','encoder_bench',1795348797380686,'8c72b9957480','raised','matbench','{"alarm":"8c72b9957480","action":"raised","at_us":1795348797380686,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"throughput","unit":"inputs/s","lower_better":false,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":266.19944139356335,"new_level":238.73438264419542}}');
INSERT INTO "alarm_events" VALUES('607761e8e54ddf49b4685041f2407722','encoder_bench',1795348797380686,'3a4a0e6c7115','fixed','matbench','{"alarm":"3a4a0e6c7115","action":"fixed","at_us":1795348797380686,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"1B_cost","unit":"USD","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":1,"vus":8,"inputs_per_request":1},"series":"batch_size 1","first_bad":"1.2.5","last_good":"1.2.4","old_level":37.759853506139486,"new_level":50.93052127130415},"version":"1.2.6"}');
INSERT INTO "alarm_events" VALUES('374d62101d265f0d240c8c7550cd27da','encoder_bench',1795348797891170,'8c72b9957480','acknowledged','ann','{"alarm":"8c72b9957480","action":"acknowledged","at_us":1795348797891170,"author":"ann","subject":{"workload":"encoder_bench","kpi":"throughput","unit":"inputs/s","lower_better":false,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":266.19944139356335,"new_level":238.73438264419542},"reason":"known, wait for 1.4.0","until":"1.4.0"}');
INSERT INTO "alarm_events" VALUES('7359298a9dfdfb7850772f9b04f774a4','encoder_bench',1795348798034278,'b61e3972bb08','resolved','ann','{"alarm":"b61e3972bb08","action":"resolved","at_us":1795348798034278,"author":"ann","subject":{"workload":"encoder_bench","kpi":"1B_cost","unit":"USD","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":34.45259173873505,"new_level":38.42952567223735},"reason":"the price changed"}');
INSERT INTO "alarm_events" VALUES('a8ee88a0b450cb17c61a3954731b0eec','encoder_bench',1795348798195101,'23bd54779b02','resolved','ann','{"alarm":"23bd54779b02","action":"resolved","at_us":1795348798195101,"author":"ann","subject":{"workload":"encoder_bench","kpi":"p95_latency","unit":"ms","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":40.86893086208333,"new_level":45.69263935833333},"reason":"a bad night"}');
INSERT INTO "alarm_events" VALUES('d8a1c501f863a9c10185b75518024533','encoder_bench',1795348798388834,'23bd54779b02','reopened','ben','{"alarm":"23bd54779b02","action":"reopened","at_us":1795348798388834,"author":"ben","subject":{"workload":"encoder_bench","kpi":"p95_latency","unit":"ms","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":40.86893086208333,"new_level":45.69263935833333},"reason":"it was not"}');
CREATE TABLE kpis (
        series INTEGER NOT NULL,
        time_us INTEGER NOT NULL,
        payload INTEGER NOT NULL,
        value NOT NULL,
        PRIMARY KEY (series, time_us, payload)
    ) WITHOUT ROWID
    ;
CREATE TABLE payloads (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        workload TEXT NOT NULL,
        time_us INTEGER,
        digest TEXT NOT NULL,
        settings TEXT NOT NULL,
        repeat INTEGER NOT NULL,
        payload TEXT NOT NULL
    , measurement TEXT, recorded_us INTEGER, recorded_place INTEGER);
CREATE TABLE series (
        number INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        workload TEXT NOT NULL,
        kpi TEXT NOT NULL,
        unit TEXT NOT NULL,
        labels TEXT NOT NULL,
        help TEXT NOT NULL,
        lower_better INTEGER,
        ignored_for_regression INTEGER NOT NULL,
        described_us INTEGER NOT NULL,
        described_by TEXT NOT NULL
    );
CREATE INDEX payloads_by_time ON payloads (workload, time_us, id);
CREATE INDEX alarm_events_by_time ON alarm_events (at_us, id);
CREATE INDEX payloads_by_recorded ON payloads (recorded_us);
CREATE INDEX payloads_by_measurement ON payloads (measurement);
CREATE INDEX series_by_name ON series (workload, kpi);
COMMIT;
PRAGMA application_id = 1835103330;
PRAGMA user_version = 4;
