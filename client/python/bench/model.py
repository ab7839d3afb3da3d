# SPDX-License-Identifier: Apache-2.0
"""A model's weights for many processes: loaded once and mapped, beside each process loading them.

    python model.py [--gib 16] [--arrays 1000] [--processes 10] [--folder /dev/shm] [--cli holdfast]

Needs PyTorch with CUDA. HOLDFAST_ADDRESS names the daemon, else a private one is started. The file is in
memory (/dev/shm), so that the disk plays no part: the figures are of the way from there to the device.
Every process sums every array, and the sums are compared.

As many processes that load by themselves do not fit a device together: each of them loads its part of the
file, so that they load the whole once in sum.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import time

import numpy as np

NAME = "bench-model"


def write_model(path, gib, arrays):
    """A .safetensors file; array i is full of i % 251. Returns the elements of an array."""
    elements = (int(gib * 2**30) // arrays // 4) & ~63
    header, offset = {}, 0
    for i in range(arrays):
        end = offset + elements * 4
        header[f"layer.{i:04}"] = {"dtype": "F32", "shape": [elements], "data_offsets": [offset, end]}
        offset = end
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % 4096)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for i in range(arrays):
            file.write(np.full(elements, i % 251, np.float32).data)
    return elements


def wanted_sums(arrays, elements):
    return [float(i % 251) * elements for i in range(arrays)]


def sums_of(tensors):
    import torch

    with torch.no_grad():
        sums = [tensors[name].sum(dtype=torch.float64) for name in sorted(tensors)]
        return torch.stack(sums).cpu().tolist()


def start_torch():
    import torch

    torch.zeros(1, device="cuda").add_(1).cpu()
    return torch


def load_alone(path, names):
    """As an engine loads it: the file by pieces through two pinned buffers. Tensors by name."""
    torch = start_torch()
    start = time.perf_counter()
    tensors = {}
    with open(path, "rb", buffering=0) as file:
        size = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(size))
        data = 8 + size
        entries = {name: header[name] for name in names}
        largest = max(e["data_offsets"][1] - e["data_offsets"][0] for e in entries.values())
        pinned = [torch.empty(largest, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
        done = [torch.cuda.Event(), torch.cuda.Event()]
        for i, (name, entry) in enumerate(entries.items()):
            done[i % 2].synchronize()
            begin, end = entry["data_offsets"]
            piece = pinned[i % 2][: end - begin]
            file.seek(data + begin)
            file.readinto(memoryview(piece.numpy()))
            tensors[name] = piece.to("cuda", non_blocking=True).view(torch.float32)
            done[i % 2].record()
    torch.cuda.synchronize()
    return tensors, time.perf_counter() - start


def reader(how, path, arrays, elements, part, gate, results):
    """A process that gets the weights and sums them: (seconds by step, sums right).

    `part`: (index, count), which arrays a process loads that loads by itself.
    """
    wanted = wanted_sums(arrays, elements)
    if how == "alone":
        start_torch()
        gate.wait()
        names = [f"layer.{i:04}" for i in range(part[0], arrays, part[1])]
        tensors, seconds = load_alone(path, names)
        wanted = wanted[part[0] :: part[1]]
        steps = {"load": seconds}
    else:
        import holdfast

        start_torch()
        session = holdfast.default_session()
        device = session.device(0)
        gate.wait()
        start = time.perf_counter()
        weights = holdfast.collections.open(NAME, device=device)
        opened = time.perf_counter()
        tensors = weights.tensors("torch", mapped=True)
        steps = {"open": opened - start, "map": time.perf_counter() - opened}
    right = sums_of(tensors) == wanted
    results.put((steps, right))
    del tensors


def run_readers(how, count, *arguments):
    context = multiprocessing.get_context("spawn")
    gate, results = context.Barrier(count), context.Queue()
    processes = [
        context.Process(target=reader, args=(how, *arguments, (i, count), gate, results))
        for i in range(count)
    ]
    for process in processes:
        process.start()
    found = [results.get(timeout=300) for _ in processes]
    for process in processes:
        process.join()
    assert all(right for _, right in found), "a sum is wrong"
    return {
        step: (statistics.median(f[0][step] for f in found), max(f[0][step] for f in found))
        for step in found[0][0]
    }


def show(name, steps):
    for step, (median, worst) in steps.items():
        print(f"| {name}: {step} | {median * 1e3:.1f} ms | {worst * 1e3:.1f} ms |", flush=True)


def timed(command):
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def show_cli(cli, path):
    """Load, and comparison with the file, by the command line, into a collection of its own."""
    name = NAME + "-cli"
    for step, command in {
        "load": [cli, "collection", "load", name, path],
        "verify": [cli, "collection", "verify", name, path],
        "delete": [cli, "collection", "rm", name],
    }.items():
        seconds = timed(command)
        show(f"holdfast collection {step}", {"whole command": (seconds, seconds)})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gib", type=float, default=16)
    parser.add_argument("--arrays", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=10)
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--cli", help="path of holdfast, to load by the command line as well")
    args = parser.parse_args()

    import holdfast

    os.environ["HOLDFAST_ADDRESS"] = holdfast.default_session().address
    path = os.path.join(args.folder, f"bench-model-{os.getpid()}.safetensors")
    try:
        elements = write_model(path, args.gib, args.arrays)
        file = (path, args.arrays, elements)
        print(f"{args.gib:g} GiB in {args.arrays} arrays\n")
        print("| what | median | slowest |\n| --- | --- | --- |")
        show("one process, PyTorch alone", run_readers("alone", 1, *file))
        if args.processes > 1:
            steps = run_readers("alone", args.processes, *file)
            show(f"{args.processes} at once, PyTorch alone, a part each", steps)
        if args.cli:
            show_cli(args.cli, path)
        start = time.perf_counter()
        holdfast.collections.load_safetensors(path, NAME)
        seconds = time.perf_counter() - start
        show("Holdfast, once for all", {"load": (seconds, seconds)})
        show("one process, Holdfast", run_readers("mapped", 1, *file))
        show(f"{args.processes} at once, Holdfast", run_readers("mapped", args.processes, *file))
    finally:
        if os.path.exists(path):
            os.unlink(path)
        for collection in holdfast.collections.list():
            if collection["name"] == NAME:
                holdfast.collections.delete(NAME)


if __name__ == "__main__":
    main()
