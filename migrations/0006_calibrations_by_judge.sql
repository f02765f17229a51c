-- An upgrade may change the judge's prompt: the campaign then calibrates again, also in an iteration with a calibration.
alter table judge_calibrations drop constraint judge_calibrations_pkey;
alter table judge_calibrations add primary key (campaign_id, iteration, judge_version);
