"""InterCode-SQL on MariaDB, next to the MySQL that the benchmark was published with."""
