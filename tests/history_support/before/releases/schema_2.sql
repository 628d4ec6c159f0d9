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
INSERT INTO "alarm_events" VALUES('0fa53c0ecaaffde934a21f143e800614','encoder_bench',1795348809792067,'3a4a0e6c7115','raised','matbench','{"alarm":"3a4a0e6c7115","action":"raised","at_us":1795348809792067,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"1B_cost","unit":"USD","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":1,"vus":8,"inputs_per_request":1},"series":"batch_size 1","first_bad":"1.2.5","last_good":"1.2.4","old_level":37.8726275862568,"new_level":50.93052127130415}}');
INSERT INTO "alarm_events" VALUES('7e2252bd69f074b9ddc8c4665db36340','encoder_bench',1795348814096602,'7df01de8dc21','raised','matbench','{"alarm":"7df01de8dc21","action":"raised","at_us":1795348814096602,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"avg_latency","unit":"ms","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":1,"vus":8,"inputs_per_request":1},"series":"batch_size 1","first_bad":"1.3.4","last_good":"1.3.3","old_level":32.387202494732435,"new_level":42.05221604999998}}');
INSERT INTO "alarm_events" VALUES('404af185738ce7ad6246a1f1df5e3c9f','encoder_bench',1795348814096602,'23bd54779b02','raised','matbench','{"alarm":"23bd54779b02","action":"raised","at_us":1795348814096602,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"p95_latency","unit":"ms","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":40.83900771517857,"new_level":45.9316079696875}}');
INSERT INTO "alarm_events" VALUES('96a8a44c0f7d44aaeb05c7d6df53215e','encoder_bench',1795348814096602,'8c72b9957480','raised','matbench','{"alarm":"8c72b9957480","action":"raised","at_us":1795348814096602,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"throughput","unit":"inputs/s","lower_better":false,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":266.6687202207098,"new_level":239.06194891301527}}');
INSERT INTO "alarm_events" VALUES('e17dbf7babbfd978734fd1c5696f333e','encoder_bench',1795348814096602,'c3bb03deb9e8','raised','matbench','{"alarm":"c3bb03deb9e8","action":"raised","at_us":1795348814096602,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"avg_latency","unit":"ms","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":29.303293906251476,"new_level":32.723477359643006}}');
INSERT INTO "alarm_events" VALUES('11802361e1b81652a30dbd5e9533bec8','encoder_bench',1795348814096602,'b61e3972bb08','raised','matbench','{"alarm":"b61e3972bb08","action":"raised","at_us":1795348814096602,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"1B_cost","unit":"USD","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":34.38136944254796,"new_level":38.35648956785329}}');
INSERT INTO "alarm_events" VALUES('19845d3f9801d30285984153fa46c549','encoder_bench',1795348814096602,'3a4a0e6c7115','fixed','matbench','{"alarm":"3a4a0e6c7115","action":"fixed","at_us":1795348814096602,"author":"matbench","subject":{"workload":"encoder_bench","kpi":"1B_cost","unit":"USD","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":1,"vus":8,"inputs_per_request":1},"series":"batch_size 1","first_bad":"1.2.5","last_good":"1.2.4","old_level":37.8726275862568,"new_level":50.93052127130415},"version":"1.2.6"}');
INSERT INTO "alarm_events" VALUES('fd15c917f10223956e406eedc7050818','encoder_bench',1795348814384431,'8c72b9957480','acknowledged','ann','{"alarm":"8c72b9957480","action":"acknowledged","at_us":1795348814384431,"author":"ann","subject":{"workload":"encoder_bench","kpi":"throughput","unit":"inputs/s","lower_better":false,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":266.6687202207098,"new_level":239.06194891301527},"reason":"known, wait for 1.4.0","until":"1.4.0"}');
INSERT INTO "alarm_events" VALUES('94809f00d964a2034bd81bf3b2fb3666','encoder_bench',1795348814443737,'b61e3972bb08','resolved','ann','{"alarm":"b61e3972bb08","action":"resolved","at_us":1795348814443737,"author":"ann","subject":{"workload":"encoder_bench","kpi":"1B_cost","unit":"USD","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":34.38136944254796,"new_level":38.35648956785329},"reason":"the price changed"}');
INSERT INTO "alarm_events" VALUES('2bc8e1ded95aef61802427bfdb1ca8f9','encoder_bench',1795348814484044,'23bd54779b02','resolved','ann','{"alarm":"23bd54779b02","action":"resolved","at_us":1795348814484044,"author":"ann","subject":{"workload":"encoder_bench","kpi":"p95_latency","unit":"ms","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":40.83900771517857,"new_level":45.9316079696875},"reason":"a bad night"}');
INSERT INTO "alarm_events" VALUES('2e461746d9deaea6fd99d2d2f98a45e7','encoder_bench',1795348814528654,'23bd54779b02','reopened','ben','{"alarm":"23bd54779b02","action":"reopened","at_us":1795348814528654,"author":"ben","subject":{"workload":"encoder_bench","kpi":"p95_latency","unit":"ms","lower_better":true,"labels":{"kpi_settings_version":"1.0","task":"embedding","model":"all-MiniLM-L6-v2","vendor":"local","hw_type":"cpu-1","image":"onnx-int8","engine":"onnxruntime","batch_size":8,"vus":8,"inputs_per_request":1},"series":"batch_size 8","first_bad":"1.3.1","last_good":"1.3.0","old_level":40.83900771517857,"new_level":45.9316079696875},"reason":"it was not"}');
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
    );
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
COMMIT;
PRAGMA application_id = 1835103330;
PRAGMA user_version = 2;
