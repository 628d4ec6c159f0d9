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
