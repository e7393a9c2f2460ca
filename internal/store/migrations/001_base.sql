-- The index over the journals. No table has a key constraint: what is loaded
-- is checked line by line while loading, and DuckDB's key indexes would forbid
-- replacing a run within one transaction.

CREATE TABLE journals (
    file   VARCHAR,  -- name within the folder of journals
    run_id VARCHAR,  -- null when the file is no journal that can be read
    size   BIGINT,   -- of the file when it was last looked at
    bytes  BIGINT,   -- up to here it is loaded; less than size when its last line is torn
    lines  BIGINT,
    tail   VARCHAR   -- hash of the last bytes loaded: tells a file that grew from one that was replaced
);

CREATE TABLE problems (
    file   VARCHAR,
    line   BIGINT,   -- null when it is about the whole file
    detail VARCHAR
);

CREATE TABLE runs (
    id         VARCHAR,
    started_at TIMESTAMPTZ,
    ended      BOOLEAN,      -- false: cut short, or still under way
    command    VARCHAR,
    assay      VARCHAR,
    plan_hash  VARCHAR,
    host_id    VARCHAR,
    host       JSON,
    plan       JSON
);

CREATE TABLE results (
    id                   VARCHAR,
    run_id               VARCHAR,
    host_id              VARCHAR,
    cell_hash            VARCHAR,
    subject_hash         VARCHAR,
    type                 VARCHAR,
    checkpoint           VARCHAR,
    model                VARCHAR,
    class                VARCHAR,
    task                 VARCHAR,
    family               VARCHAR,
    target               VARCHAR,
    platform             VARCHAR,
    device               VARCHAR,
    engine               VARCHAR,
    browser              VARCHAR,
    size                 VARCHAR,
    weights              VARCHAR,
    dtype                VARCHAR,
    batch                INTEGER,
    seq                  INTEGER,
    image                INTEGER,
    threads              INTEGER,
    seed                 BIGINT,
    mode                 VARCHAR,
    verdict              VARCHAR,
    evidence             VARCHAR,
    timing               VARCHAR,
    note                 VARCHAR,
    requested_target     VARCHAR,
    actual_target        VARCHAR,  -- null when nothing ran
    actual_platform      VARCHAR,
    actual_dtype         VARCHAR,
    actual_batch         INTEGER,
    actual_seq           INTEGER,
    actual_image         INTEGER,
    fallback_to          VARCHAR,
    fallback_from        VARCHAR,
    fallback_reason      VARCHAR,
    failure_class        VARCHAR,
    failure_detail       VARCHAR,
    failure_hint         VARCHAR,
    max_abs              DOUBLE,
    max_rel              DOUBLE,
    tolerance            DOUBLE,
    numerics_pass        BOOLEAN,
    phases_ms            MAP(VARCHAR, DOUBLE),
    repeats              INTEGER,
    iterations           INTEGER,
    median_ms            DOUBLE,
    lo_ms                DOUBLE,
    hi_ms                DOUBLE,
    p90_ms               DOUBLE,
    p95_ms               DOUBLE,
    p99_ms               DOUBLE,
    cv_within            DOUBLE,
    cv_between           DOUBLE,
    stable               BOOLEAN,
    device_ms            DOUBLE,
    items_per_s          DOUBLE,
    host_baseline_bytes  BIGINT,
    host_peak_bytes      BIGINT,
    device_baseline_bytes BIGINT,
    device_peak_bytes    BIGINT,
    framework_peak_bytes BIGINT,
    energy_j             DOUBLE,
    harness_cpu_fraction DOUBLE,
    overhead_ms          DOUBLE,
    parameters           BIGINT,
    attempts             INTEGER,
    versions             MAP(VARCHAR, VARCHAR),
    started_at           TIMESTAMPTZ,
    result               JSON      -- everything, less the raw samples, which are in timings
);

-- Raw samples, one row a repeat. A list packs better than a row a sample: a
-- bench of a small model has tens of thousands. The view samples unfolds it.
CREATE TABLE timings (
    result_id VARCHAR,
    repeat    INTEGER,  -- from 1
    ms        DOUBLE[],
    device_ms DOUBLE[]  -- by the device's own events, where it has them
);

CREATE TABLE outputs (
    result_id VARCHAR,
    position  INTEGER,  -- from 1
    name      VARCHAR,
    shape     BIGINT[],
    dtype     VARCHAR
);

-- One row a device, or one with no device for a platform that has none.
CREATE TABLE detections (
    id             VARCHAR,
    run_id         VARCHAR,
    host_id        VARCHAR,
    platform       VARCHAR,
    status         VARCHAR,   -- present, absent, unknown
    engine         VARCHAR,
    engine_version VARCHAR,
    device         VARCHAR,
    name           VARCHAR,
    memory_bytes   BIGINT,
    features       VARCHAR[],
    software       BOOLEAN,   -- an emulator or a software adapter
    hint           VARCHAR,
    detected_at    TIMESTAMPTZ
);

-- A host as its newest run saw it.
CREATE VIEW hosts AS
SELECT
    host_id AS id,
    host->>'$.os' AS os,
    host->>'$.kernel' AS kernel,
    host->>'$.arch' AS arch,
    host->>'$.cpu' AS cpu,
    (host->>'$.cores')::INTEGER AS cores,
    (host->>'$.memory_bytes')::BIGINT AS memory_bytes,
    host->>'$.instance' AS instance,
    (host->'$.devices')::VARCHAR[] AS devices,
    started_at AS seen_at
FROM runs
QUALIFY row_number() OVER (PARTITION BY host_id ORDER BY started_at DESC, id DESC) = 1;

CREATE VIEW samples AS
SELECT result_id, repeat, unnest(range(1, len(ms) + 1)) AS iteration, unnest(ms) AS ms, unnest(device_ms) AS device_ms
FROM timings;

CREATE VIEW phases AS
SELECT id AS result_id, unnest(map_keys(phases_ms)) AS phase, unnest(map_values(phases_ms)) AS ms
FROM results;

-- One row an attempt, in seconds and megabytes. A success is something that
-- ran: what is only compiled, derived or predicted to work is null.
CREATE VIEW hardware_results AS
SELECT
    id,
    model AS model_id,
    type AS model_type,
    coalesce(actual_platform, platform) AS hardware,
    CASE
        WHEN verdict IN ('fails', 'unavailable') THEN false
        WHEN evidence IN ('measured', 'emulated') THEN true
    END AS success,
    list_sum([phases_ms[p] FOR p IN ['download', 'read', 'processor', 'build', 'convert', 'compile', 'device', 'to_device']]) / 1000
        AS load_time,
    CASE WHEN timing IN ('quick', 'full') AND evidence = 'measured' THEN median_ms / 1000 END AS inference_time,
    coalesce(device_peak_bytes - coalesce(device_baseline_bytes, 0), host_peak_bytes - coalesce(host_baseline_bytes, 0)) / 1e6 AS memory_usage,
    failure_class || coalesce(': ' || failure_detail, '') AS error,
    started_at AS timestamp,
    (SELECT shape::VARCHAR FROM outputs o WHERE o.result_id = r.id AND o.position = 1) AS output_shape,
    evidence,
    verdict,
    coalesce(fallback_from, requested_target) AS requested,
    size,
    weights,
    coalesce(actual_dtype, dtype) AS dtype,
    coalesce(actual_batch, batch) AS batch,
    mode,
    host_id AS host
FROM results r;

CREATE VIEW hardware_detection AS
SELECT
    id,
    platform AS hardware_type,
    status = 'present' AND NOT coalesce(software, false) AS available,
    name,
    features,
    detected_at AS timestamp
FROM detections;
