"""Which packages are installed; everything else stands in pyproject.toml.

The catalogue's files belong to the Go program. A package that is built from the repository takes them in as
assay.data, so that what is installed needs neither the program nor the repository.
"""

from setuptools import find_packages, setup

setup(
    packages=[*find_packages(include=["assay*"]), "assay.data", "assay_runner.data"],
    package_dir={"assay.data": "../../internal/catalog/data"},
)
