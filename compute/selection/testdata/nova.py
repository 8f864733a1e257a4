"""Says in which order Nova would try hosts.

stdin: a list of choices as in parity_test.go.
stdout: a list of lists of names, the best host first.
"""
import json
import sys
from types import SimpleNamespace as Object

from nova import conf
from nova import objects
from nova.scheduler import weights
from nova.scheduler.filters import affinity_filter
from nova.scheduler.weights import affinity
from nova.scheduler.weights import compute
from nova.scheduler.weights import cpu
from nova.scheduler.weights import disk
from nova.scheduler.weights import io_ops
from nova.scheduler.weights import ram

objects.register_all()
conf.CONF([], project='nova', default_config_files=[])

WEIGHERS = [
    ram.RAMWeigher(), cpu.CPUWeigher(), disk.DiskWeigher(), io_ops.IoOpsWeigher(), compute.BuildFailureWeigher(),
    affinity.ServerGroupSoftAffinityWeigher(), affinity.ServerGroupSoftAntiAffinityWeigher(),
]
FILTERS = [affinity_filter.ServerGroupAntiAffinityFilter(), affinity_filter.ServerGroupAffinityFilter()]


class Group(Object):
    def __contains__(self, name):
        return hasattr(self, name)


def state(h):
    return Object(
        host=h['name'], nodename=h['name'], free_ram_mb=h['ram'], vcpus_total=h['cpu'], cpu_allocation_ratio=1.0, vcpus_used=0,
        free_disk_mb=h['disk'], num_io_ops=h['busy'], failed_builds=h['failed'], instances={s: None for s in h['servers']},
        aggregates=[Object(metadata=m) for m in h['metadata']])


def choose(choice):
    group = choice['group']
    if group:
        group = Group(policy=group['policy'], policies=[group['policy']], rules={'max_server_per_host': group['most']},
                      members=group['members'], hosts=group['hosts'], uuid='g')
    spec = Object(instance_group=group, instance_uuid='s1')
    hosts = [state(h) for h in choice['hosts']]
    hosts = [h for h in hosts if all(f.host_passes(h, spec) for f in FILTERS)]
    weighed = weights.HostWeightHandler().get_weighed_objects(WEIGHERS, hosts, spec)
    return [w.obj.host for w in weighed]


json.dump([choose(c) for c in json.load(sys.stdin)], sys.stdout)
