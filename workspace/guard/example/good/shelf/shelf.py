"""A reading list in one file, a title on each line."""

import json
import os


def write(path, titles):
    """Replace the list in one step: a crash leaves the old one or the new one."""
    temporary = path + ".new"
    with open(temporary, "w", encoding="utf-8") as file:
        for title in titles:
            file.write(json.dumps({"title": title}) + "\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def read(path):
    """Return the titles, none where there is no file yet."""
    try:
        with open(path, encoding="utf-8") as file:
            return [json.loads(line)["title"] for line in file]
    except FileNotFoundError:
        return []
