// Package detect finds out which of the eight platforms a machine has, with
// which devices, and what a cell should be run with there.
//
// It works in two passes, because what can be seen cheaply is not proof and
// what is proof is not cheap.
//
//   - [Look] reads files: sysfs, procfs, device nodes, DMI, the device tree, a
//     few commands on macOS. It loads no vendor library, starts no Python and
//     takes some 20 ms. What it gives is a [Sighting]: the CPU, the memory,
//     and for every platform what was [Seen] of it.
//   - [Confirm] asks children, one for each of NVML, torch, OpenVINO and ONNX
//     Runtime, each with its own time limit, so that a driver that hangs or
//     crashes takes nothing with it. What they say are [Answers]; they are
//     cached, since importing torch costs seconds.
//
// [Judge] puts both together into a [Report]. A platform is present only when
// a cell can run there: its device was seen and an engine confirmed it. It is
// absent when some part is known to be missing, and then the evidence says
// which and the hint what to do; [Platform].Seen tells whether it is there
// nevertheless. Everything else is unknown. Nothing is guessed: what could not be
// read is null. [JudgeFirst] is for those who want only the first pass.
//
// Everything outside is reached through a [Machine]: a root file system,
// environment, PATH, commands. [Live] is this machine. [Capture] writes down
// what the probes read, without serial numbers, names and addresses, and
// [Open] makes a Machine of it again, so that a test is a captured machine.
//
// Each platform has a file and a [Probe] in it; [Probes] lists them. To add a
// platform, add a file and a row there. The other accelerators, which no
// engine of Assay drives, are rows of a table in accelerators.go.
package detect
