"""Mirrors of campaigns in the files of trackers: rows come in, points go out, each exactly once."""
