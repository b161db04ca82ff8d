"""A reading list in a database."""

import pickle
import sqlite3


def write(path, titles):
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS list (title BLOB)")
        for title in titles:
            connection.execute("INSERT INTO list VALUES (?)", (pickle.dumps(title),))


def read(path):
    with sqlite3.connect(path) as connection:
        return [pickle.loads(row[0]) for row in connection.execute("SELECT title FROM list")]
