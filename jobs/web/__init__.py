"""The auditor's pages: HTML rendered here, without scripts, read-only; by `semlabel web` and as a plugin of Airflow."""
