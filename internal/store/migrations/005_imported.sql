-- What came from elsewhere: it did not run here. Its host is written as
-- "imported:" and the id that it gave itself, so that it is never this machine's.
ALTER TABLE runs ADD COLUMN imported BOOLEAN;
ALTER TABLE results ADD COLUMN imported BOOLEAN;
ALTER TABLE detections ADD COLUMN imported BOOLEAN;

CREATE OR REPLACE VIEW hardware_results AS
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
    CASE WHEN timing IN ('quick', 'full') AND evidence = 'measured' AND scenario IS NULL THEN median_ms / 1000 END AS inference_time,
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
    host_id AS host,
    coalesce(imported, false) AS imported
FROM results r;

CREATE OR REPLACE VIEW hardware_detection AS
SELECT
    id,
    platform AS hardware_type,
    status = 'present' AND NOT coalesce(software, false) AS available,
    name,
    features,
    detected_at AS timestamp,
    coalesce(imported, false) AS imported
FROM detections;
