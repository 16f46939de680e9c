"""Two tools for the agent in agent.yaml."""
import statistics

from superstep_tools import serve


def describe(numbers):
    """Returns the mean and the standard deviation of numbers that commas separate."""
    numbers = [float(number) for number in numbers.split(",")]
    return {"mean": statistics.mean(numbers), "deviation": round(statistics.pstdev(numbers), 3)}


def slug(text):
    """Returns a text as it is used in addresses."""
    return "-".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


serve(describe, slug)
