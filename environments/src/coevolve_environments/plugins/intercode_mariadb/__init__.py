"""InterCode-SQL on MariaDB, which is close to the MySQL of the published benchmark."""
