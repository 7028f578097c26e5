"""Collectives of Python's objects and of arrays as mpi4py makes them of MPI calls: lengths first, then bytes; counts and displacements
that differ; in place; on halves and copies of the communicator; operators written in Python.  Every result is compared with what it has
to be.  Prints `right on N ranks`.

SPDX-License-Identifier: BSD-3-Clause
"""

import array
import random
import sys

from mpi4py import MPI


def thing(seed, rank):
    """An object of any size up to some 100 KB, the same wherever it is made."""
    draw = random.Random(1000 * seed + rank)
    size = draw.choice((0, 1, 10, 1000, 20000))
    return {'of': rank, 'list': [draw.random() for _ in range(size)], 'text': 'x' * draw.randrange(1 + size), (rank, 'key'): None}


def expect(what, found, wanted):
    if found != wanted:
        print(f'{what}: {str(found)[:300]} in place of {str(wanted)[:300]}', file=sys.stderr)
        MPI.COMM_WORLD.Abort(1)


def objects(comm, seed):
    rank, size = comm.rank, comm.size
    root = seed % size
    everyone = [thing(seed, r) for r in range(size)]
    expect('bcast', comm.bcast(everyone[rank] if rank == root else None, root), everyone[root])
    expect('gather', comm.gather(everyone[rank], root), everyone if rank == root else None)
    expect('scatter', comm.scatter(everyone if rank == root else None, root), everyone[rank])
    expect('allgather', comm.allgather(everyone[rank]), everyone)
    expect('alltoall', comm.alltoall([(rank, to, everyone[rank]) for to in range(size)]), [(r, rank, everyone[r]) for r in range(size)])
    expect('allreduce', comm.allreduce(str(rank)), ''.join(map(str, range(size))))
    expect('scan', comm.scan(str(rank)), ''.join(map(str, range(rank + 1))))
    comm.barrier()


def arrays(comm, seed):
    rank, size = comm.rank, comm.size
    root = seed % size
    count = (1, 7, 1000, 40000)[seed % 4]
    mine = array.array('d', (rank + i for i in range(count)))
    total = array.array('d', (size * i + size * (size - 1) / 2 for i in range(count)))
    out = array.array('d', bytes(8 * count))
    comm.Allreduce(mine, out)
    expect('Allreduce', out, total)
    comm.Reduce(mine, out, root=root)
    expect('Reduce', out, total)
    inside = array.array('d', mine)
    comm.Iallreduce(MPI.IN_PLACE, inside).Wait()
    expect('Iallreduce', inside, total)
    comm.Bcast(inside if rank == root else out, root)
    expect('Bcast', out, total)
    # rank r gives r + 1 parts, with a hole between them
    counts = [r + 1 for r in range(size)]
    places = [sum(counts[:r]) + r for r in range(size)]
    whole = array.array('i', [-1] * (sum(counts) + size))
    comm.Allgatherv(array.array('i', [rank] * (rank + 1)), [whole, counts, places, MPI.INT])
    expect('Allgatherv', whole.tolist(), sum(([r] * (r + 1) + [-1] for r in range(size)), []))
    # an operator that does not commute: the last one that is not zero
    last = MPI.Op.Create(lambda a, b, _: keep_last(a, b), commute=False)
    out = array.array('q', [0] * size)
    comm.Allreduce(array.array('q', [rank + 1 if i <= rank else 0 for i in range(size)]), out, last)
    expect('operator', out.tolist(), [size] * size)
    last.Free()


def keep_last(a, b):
    a, b = memoryview(a).cast('q'), memoryview(b).cast('q')
    for i, before in enumerate(a):
        if b[i] == 0:
            b[i] = before


def main():
    world = MPI.COMM_WORLD
    halves = world.Split(world.rank % 2, -world.rank)
    for seed in range(8):
        for comm in (world, halves):
            objects(comm, seed)
            arrays(comm, seed)
        copy = world.Dup()
        objects(copy, seed + 1)
        copy.Free()
    halves.Free()
    ranks = world.reduce(1)
    if world.rank == 0:
        print(f'right on {ranks} ranks')


main()
