"""Runs cells for the engines that run an exported graph: ONNX Runtime, OpenVINO, QNN, Core ML, browsers.

A cell of such an engine goes three steps. The **artefact** is the model exported once: the graph with its weights, the
outputs that torch gave for the same inputs in float32, and what a damaged model gave, all in one entry of a
content-addressed **store**. Its key covers everything that determines its content (recipe, weights, sizes, versions,
the runner's own code), so that whoever finds it, this run, the next one or another process, needs neither torch's
model nor the exporter. A **backend** turns the artefact into what its engine runs (an IR, a quantised graph, a context
binary, kept in the same store) and compiles it. The **driver** feeds it with the same inputs and compares its outputs
with the same reference by the same code as torch's own cells. Where an engine can be given a model in several ways
(its backend's `attempts`), the first whose outputs are right is the one that counts (`choosing`).

Data goes one way: recipe → artefact → prepared → compiled → report. A backend knows nothing about torch, recipes or the
protocol; the artefact knows nothing about engines.
"""
