"""What was read last, so that it need not be read again."""

import pickle


def recall(path):
    with open(path, "rb") as file:
        return pickle.load(file)
