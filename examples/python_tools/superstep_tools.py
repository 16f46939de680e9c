"""Serves Python functions as tools of a superstep agent (command: {protocol: jsonl}).

Copy this file beside your tools. It needs Python 3.8 and nothing else.
"""
import json
import os
import sys
import traceback


def serve(*functions):
    """Answers calls until superstep closes standard input. The name of a tool selects the function."""
    by_name = {function.__name__: function for function in functions}
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # print() writes to standard error, because standard output is for answers
    for line in sys.stdin.buffer:
        call = json.loads(line)
        answer = {"id": call["id"]}
        try:
            result = by_name[call["tool"]](**call["arguments"])
            answer["result"] = json.loads(json.dumps(result, allow_nan=False))
        except Exception as failure:  # the model reads the error; the worker continues
            traceback.print_exc()
            answer["error"] = f"{type(failure).__name__}: {failure}"
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
