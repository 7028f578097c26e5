"""What is compared: names for sets of Open MPI parameters.

A setting without the plugin leaves coll/wan's directory off the component path
and lowers its priority below zero, in case it is installed as well.

SPDX-License-Identifier: BSD-3-Clause
"""

import dataclasses
import re
import shlex
import subprocess

WITHOUT_PLUGIN = ('--mca', 'coll_wan_priority', '-1')
# What lasts is compared, not first calls (contrib/bench/first_calls): links are known from the first round on.
MEASURED = ('--mca', 'coll_wan_measure_share', '100')


@dataclasses.dataclass(frozen=True)
class Setting:
    name: str
    args: tuple = ()        # for mpirun
    plugin: bool = False    # coll/wan on the component path
    ops: tuple = ()         # only these, () for all

    @property
    def command(self):
        if not self.plugin:
            return tuple(self.args) + WITHOUT_PLUGIN
        return tuple(self.args) + (() if MEASURED[1] in self.args else MEASURED)


def _mca(**parameters):
    return tuple(word for name, value in parameters.items()
                 for word in ('--mca', name, str(value)))


# What wanbench_worker can time (operation_table() there); with an i before it, the non-blocking form.
OPERATIONS = ('barrier', 'bcast', 'gather', 'gatherv', 'scatter', 'scatterv', 'allgather', 'allgatherv', 'alltoall', 'alltoallv',
              'alltoallw', 'neighbor_alltoall', 'reduce', 'allreduce', 'scan', 'exscan', 'reduce_scatter', 'reduce_scatter_block')

PREDEFINED = {s.name: s for s in (
    Setting('ompi'),
    # Explicitly tuned, also where another component has a higher priority (5.0: han).
    Setting('tuned', _mca(coll_tuned_priority=100)),
    Setting('han', _mca(coll_han_priority=100)),
    Setting('adapt', _mca(coll_adapt_priority=100)),
    # A list cannot mix ^ and names: so what is left without tuned, han, adapt, sm.
    Setting('basic', _mca(coll='basic,libnbc,self,inter')),
    # Above the eager limit, btl/tcp needs three one-way trips per message.
    Setting('eager', _mca(btl_tcp_eager_limit=1153434, btl_tcp_rndv_eager_limit=1153434,
                          btl_tcp_max_send_size=1153434)),
    Setting('wan', (), True),
)}


def _enumerated(component, ops, ompi_info, env):
    """(operation, algorithm) of a component of coll, as ompi_info lists what can be chosen."""
    said = subprocess.run([*ompi_info, '--param', 'coll', component, '--level', '9', '--parsable'],
                          env=env, capture_output=True, text=True, check=True).stdout
    found = re.findall(rf'param:coll_{component}_(\w+)_algorithm:enumerator:value:[1-9]\d*:(\S+)', said)
    if not found:
        raise ValueError(f'ompi_info shows no algorithms of coll/{component}')
    return [(op, name) for op, name in found if op in ops], found


def forced(ops, ompi_info=('ompi_info',), env=None):
    """A setting for each algorithm that Open MPI's tuned can be forced to: 'bcast:tuned/pipeline', ..."""
    return [Setting(f'{op}:tuned/{name}', _mca(coll_tuned_priority=100, coll_tuned_use_dynamic_rules=1, **{f'coll_tuned_{op}_algorithm': name}),
                    False, (op,)) for op, name in _enumerated('tuned', ops, ompi_info, env)[0]]


def algorithms(ops, ompi_info=('ompi_info',), env=None):
    """A setting for each of coll/wan's algorithms for these operations: 'bcast:chain', ..."""
    here, found = _enumerated('wan', ops, ompi_info, env)
    chosen = [Setting(f'{op}:{name}', _mca(**{f'coll_wan_{op}_algorithm': name}), True, (op,)) for op, name in here]
    if not chosen:
        raise ValueError(f"no algorithms for these operations: some of {', '.join(dict(found))}")
    return chosen


def setting_parse(text):
    """'han', or NAME=MPIRUN-ARGUMENTS (with the plugin; NAME:off=... without)."""
    name, equals, args = text.partition('=')
    if not equals:
        if name not in PREDEFINED:
            raise ValueError(f"no setting '{name}': one of {', '.join(PREDEFINED)}, "
                             "or NAME='mpirun arguments'")
        return PREDEFINED[name]
    name, _, switch = name.partition(':')
    if not name or switch not in ('', 'off'):
        raise ValueError(f"'{text}': write NAME='mpirun arguments' or NAME:off='...'")
    return Setting(name, tuple(shlex.split(args)), switch != 'off')
