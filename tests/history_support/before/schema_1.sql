BEGIN TRANSACTION;
CREATE TABLE kpis (
        series INTEGER NOT NULL,
        time_us INTEGER NOT NULL,
        payload INTEGER NOT NULL,
        value NOT NULL,
        PRIMARY KEY (series, time_us, payload)
    ) WITHOUT ROWID
    ;
INSERT INTO "kpis" VALUES(1,-9223372036854775808,1,13.0);
INSERT INTO "kpis" VALUES(1,-9223372036854775808,2,11.0);
INSERT INTO "kpis" VALUES(1,-9223372036854775808,3,14.0);
INSERT INTO "kpis" VALUES(1,-9223372036854775808,4,12.0);
INSERT INTO "kpis" VALUES(1,1772366700000000,5,15.0);
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
INSERT INTO "payloads" VALUES(1,'22672240-e7e0-59da-82fd-92d53e744b91','speed',NULL,'02eaa38d9aff14844ce333fbc960f01d','{"hw_type":"cpu-1","vus":8}',3,'{"metadata":{"lts_schema_version":"1.0","workload":"speed","test_uuid":"22672240-e7e0-59da-82fd-92d53e744b91","settings":{"hw_type":"cpu-1","vus":8},"repeat":3,"start":null,"end":null,"exit_code":0,"presets":[],"config":null,"missing_kpis":{}},"results":{"number":3},"kpis":{"speed":{"value":13.0,"help":"How fast it is","unit":"m/s","@timestamp":null,"lower_better":false,"ignored_for_regression":false,"test_uuid":"22672240-e7e0-59da-82fd-92d53e744b91","labels":{"hw_type":"cpu-1","vus":8}}}}');
INSERT INTO "payloads" VALUES(2,'5136cb4c-5074-5832-9533-181ed0897318','speed',NULL,'c0eb5a4560065407575016a608d413ea','{"hw_type":"cpu-1","vus":8}',1,'{"metadata":{"lts_schema_version":"1.0","workload":"speed","test_uuid":"5136cb4c-5074-5832-9533-181ed0897318","settings":{"hw_type":"cpu-1","vus":8},"repeat":1,"start":null,"end":null,"exit_code":0,"presets":[],"config":null,"missing_kpis":{}},"results":{"number":1},"kpis":{"speed":{"value":11.0,"help":"How fast it is","unit":"m/s","@timestamp":null,"lower_better":false,"ignored_for_regression":false,"test_uuid":"5136cb4c-5074-5832-9533-181ed0897318","labels":{"hw_type":"cpu-1","vus":8}}}}');
INSERT INTO "payloads" VALUES(3,'efebbf34-67e3-5cd8-adcb-557dd581dd74','speed',NULL,'9f70e38d15f109c66f317b6819e466ad','{"hw_type":"cpu-1","vus":8}',4,'{"metadata":{"lts_schema_version":"1.0","workload":"speed","test_uuid":"efebbf34-67e3-5cd8-adcb-557dd581dd74","settings":{"hw_type":"cpu-1","vus":8},"repeat":4,"start":null,"end":null,"exit_code":0,"presets":[],"config":null,"missing_kpis":{}},"results":{"number":4},"kpis":{"speed":{"value":14.0,"help":"How fast it is","unit":"m/s","@timestamp":null,"lower_better":false,"ignored_for_regression":false,"test_uuid":"efebbf34-67e3-5cd8-adcb-557dd581dd74","labels":{"hw_type":"cpu-1","vus":8}}}}');
INSERT INTO "payloads" VALUES(4,'7ea6979e-ed15-5f46-9e8a-fc1e6e6b3a60','speed',NULL,'f00d58b01942b39c1937d49b9bc06383','{"hw_type":"cpu-1","vus":8}',2,'{"metadata":{"lts_schema_version":"1.0","workload":"speed","test_uuid":"7ea6979e-ed15-5f46-9e8a-fc1e6e6b3a60","settings":{"hw_type":"cpu-1","vus":8},"repeat":2,"start":null,"end":null,"exit_code":0,"presets":[],"config":null,"missing_kpis":{}},"results":{"number":2},"kpis":{"speed":{"value":12.0,"help":"How fast it is","unit":"m/s","@timestamp":null,"lower_better":false,"ignored_for_regression":false,"test_uuid":"7ea6979e-ed15-5f46-9e8a-fc1e6e6b3a60","labels":{"hw_type":"cpu-1","vus":8}}}}');
INSERT INTO "payloads" VALUES(5,'a2deb202-de5b-5025-a06d-38bb68d29ec8','speed',1772366700000000,'fa74e0736161c4a3ff38f06cacba9e83','{"hw_type":"cpu-1","vus":8}',5,'{"metadata":{"lts_schema_version":"1.0","workload":"speed","test_uuid":"a2deb202-de5b-5025-a06d-38bb68d29ec8","settings":{"hw_type":"cpu-1","vus":8},"repeat":5,"start":null,"end":"2026-03-01T12:05:00+00:00","exit_code":0,"presets":[],"config":null,"missing_kpis":{}},"results":{"number":5},"kpis":{"speed":{"value":15.0,"help":"How fast it is","unit":"m/s","@timestamp":"2026-03-01T12:05:00+00:00","lower_better":false,"ignored_for_regression":false,"test_uuid":"a2deb202-de5b-5025-a06d-38bb68d29ec8","labels":{"hw_type":"cpu-1","vus":8}}}}');
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
INSERT INTO "series" VALUES(1,'a7f1dce09938f1b714d2051be6fa8545','speed','speed','m/s','{"hw_type":"cpu-1","vus":8}','How fast it is',0,0,1772366700000000,'a2deb202-de5b-5025-a06d-38bb68d29ec8');
CREATE INDEX payloads_by_time ON payloads (workload, time_us, id);
CREATE INDEX series_by_name ON series (workload, kpi);
COMMIT;
PRAGMA application_id = 1835103330;
PRAGMA user_version = 1;
