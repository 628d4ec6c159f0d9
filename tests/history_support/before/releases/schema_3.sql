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
INSERT INTO "alarm_events" VALUES('f977b6e209801aec8f117c5fe69f9e19','encoder_bench',1795348833681563,'3a4a0e6c7115','raised','matbench','{"alarm":"3a4a0e6c7115","action":"raised","at_us":1795348833681563,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"1B_cost","unit":"USD","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":1,"vus":8,"inputs_per_request":1},"series":"batch_size 1","first_bad":"1.2.5","last_good":"1.2.4","old_level":37.759853506139486,"new_level":50.73541482015073}}');
INSERT INTO "alarm_events" VALUES('f0752a557ffaaf9eb090c6a9bfdd0854','encoder_bench',1795348839870555,'7df01de8dc21','raised','matbench','{"alarm":"7df01de8dc21","action":"raised","at_us":1795348839870555,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"avg_latency","unit":"ms","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":1,"vus":8,"inputs_per_request":1},"series":"batch_size 1","first_bad":"1.3.4","last_good":"1.3.3","old_level":32.374092541805396,"new_level":41.929050621826505}}');
INSERT INTO "alarm_events" VALUES('e15ebf48d6afcfe1d211889db75e96f0','encoder_bench',1795348839870555,'23bd54779b02','raised','matbench','{"alarm":"23bd54779b02","action":"raised","at_us":1795348839870555,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"p95_latency","unit":"ms","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":40.86893086208333,"new_level":45.69263935833333}}');
INSERT INTO "alarm_events" VALUES('690bb4304abf3169e6840f23ab658302','encoder_bench',1795348839870555,'c3bb03deb9e8','raised','matbench','{"alarm":"c3bb03deb9e8","action":"raised","at_us":1795348839870555,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"avg_latency","unit":"ms","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":29.373779621163596,"new_level":32.82322388821473}}');
INSERT INTO "alarm_events" VALUES('2556375ddaa4729e330720d2541e055a','encoder_bench',1795348839870555,'b61e3972bb08','raised','matbench','{"alarm":"b61e3972bb08","action":"raised","at_us":1795348839870555,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"1B_cost","unit":"USD","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":34.45259173873505,"new_level":38.42952567223735}}');
INSERT INTO "alarm_events" VALUES('6341111251d9ce60525403887151b3aa','encoder_bench',1795348839870555,'8c72b9957480','raised','matbench','{"alarm":"8c72b9957480","action":"raised","at_us":1795348839870555,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"throughput","unit":"inputs/s","lower_better":false,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":266.19944139356335,"new_level":238.73438264419542}}');
INSERT INTO "alarm_events" VALUES('4e935c7e99c026b857ce26cf5cda775c','encoder_bench',1795348839870555,'3a4a0e6c7115','fixed','matbench','{"alarm":"3a4a0e6c7115","action":"fixed","at_us":1795348839870555,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"1B_cost","unit":"USD","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":1,"vus":8,"inputs_per_request":1},"series":"batch_size 1","first_bad":"1.2.5","last_good":"1.2.4","old_level":37.759853506139486,"new_level":50.93052127130415},"version":"1.2.6"}');
INSERT INTO "alarm_events" VALUES('fb9829ca6c3dcf65199d9ba066665f16','encoder_bench',1795348840839842,'8c72b9957480','acknowledged','ann','{"alarm":"8c72b9957480","action":"acknowledged","at_us":1795348840839842,"author":"ann","subject":{"workload":"encoder_bench","kpi":"throughput","unit":"inputs/s","lower_better":false,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":266.19944139356335,"new_level":238.73438264419542},"reason":"known, wait for 1.4.0","until":"1.4.0"}');
INSERT INTO "alarm_events" VALUES('0dbc842bbbd96552197c786f95b846bb','encoder_bench',1795348840983502,'b61e3972bb08','resolved','ann','{"alarm":"b61e3972bb08","action":"resolved","at_us":1795348840983502,"author":"ann","subject":{"workload":"encoder_bench","kpi":"1B_cost","unit":"USD","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":34.45259173873505,"new_level":38.42952567223735},"reason":"the price changed"}');
INSERT INTO "alarm_events" VALUES('5800a1f90d2bcd8676d6a2359aa6acd5','encoder_bench',1795348841066426,'23bd54779b02','resolved','ann','{"alarm":"23bd54779b02","action":"resolved","at_us":1795348841066426,"author":"ann","subject":{"workload":"encoder_bench","kpi":"p95_latency","unit":"ms","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":40.86893086208333,"new_level":45.69263935833333},"reason":"a bad night"}');
INSERT INTO "alarm_events" VALUES('93b4e2e5ee8cfdfa5d0f421f9974e9c4','encoder_bench',1795348841123095,'23bd54779b02','reopened','ben','{"alarm":"23bd54779b02","action":"reopened","at_us":1795348841123095,"author":"ben","subject":{"workload":"encoder_bench","kpi":"p95_latency","unit":"ms","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":40.86893086208333,"new_level":45.69263935833333},"reason":"it was not"}');
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
        lower_better INTEGER NOT NULL,
        ignored_for_regression INTEGER NOT NULL,
        described_us INTEGER NOT NULL,
        described_by TEXT NOT NULL
    );
CREATE INDEX payloads_by_time ON payloads (workload, time_us, id);
CREATE INDEX series_by_name ON series (workload, kpi);
CREATE INDEX alarm_events_by_time ON alarm_events (at_us, id);
CREATE INDEX payloads_by_recorded ON payloads (recorded_us);
CREATE INDEX payloads_by_measurement ON payloads (measurement);
COMMIT;
PRAGMA application_id = 1835103330;
PRAGMA user_version = 3;
