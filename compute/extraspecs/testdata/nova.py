"""Says what Nova says of extra specs and image properties.

stdin: {"values": [[name, value]], "pairs": [{"vcpus": n, "specs": {}, "properties": {}}]}
stdout: {"values": [text or null], "pairs": [{"check": text or null, …}]}
"""
import json
import sys

from nova import exception
from nova import objects
from nova.api.validation.extra_specs import validators
from nova.virt import hardware

objects.register_all()


def said(fn, *args):
    """The text of what is raised, else null."""
    try:
        fn(*args)
    except exception.NovaException as e:
        return e.format_message()
    return None


def found(fn, *args):
    """What is returned, or the text of what is raised."""
    try:
        return fn(*args)
    except exception.NovaException as e:
        return 'error: ' + e.format_message()


def check(flavor, image):
    hardware.get_mem_encryption_constraint(flavor, image)
    hardware.get_realtime_cpu_constraint(flavor, image)
    hardware.numa_get_constraints(flavor, image)


def numa(flavor, image):
    """The cells: shared CPUs, dedicated CPUs, memory; the pages, and the policies."""
    topology = hardware.numa_get_constraints(flavor, image)
    if topology is None:
        return ''
    cells = ['%s/%s/%d' % (sorted(c.cpuset), sorted(c.pcpuset), c.memory) for c in topology.cells]
    first = topology.cells[0]
    return '%s pages %s, %s, %s, %s' % (' '.join(cells), first.pagesize or 0, first.cpu_policy, first.cpu_thread_policy,
                                        topology.emulator_threads_policy)


def tpm(flavor, image):
    config = hardware.get_vtpm_constraint(flavor, image)
    return config.version if config else ''


def encryption(flavor, image):
    if not hardware.get_ephemeral_encryption_constraint(flavor, image):
        return ''
    return 'on ' + (hardware.get_ephemeral_encryption_format(flavor, image) or '')


def pair(p):
    flavor = objects.Flavor(name='m1', vcpus=p['vcpus'], memory_mb=p.get('memory_mb', 512), root_gb=1, ephemeral_gb=0, swap=0,
                            extra_specs=p['specs'])
    try:
        image = objects.ImageMeta.from_dict({'id': 'i', 'name': 'cirros', 'properties': dict(p['properties'])})
    except ValueError as e:
        return {'check': 'Invalid image metadata. Error: %s' % e}
    except exception.Invalid as e:
        return {'check': e.format_message()}
    return {
        'check': said(check, flavor, image),
        'numa': found(numa, flavor, image),
        'tpm': found(tpm, flavor, image),
        'boot': found(lambda: str(hardware.get_secure_boot_constraint(flavor, image) == 'required')),
        'pci': found(lambda: hardware.get_pci_numa_policy_constraint(flavor, image) or ''),
        'encryption': found(encryption, flavor, image),
    }


asked = json.load(sys.stdin)
json.dump({
    'values': [said(validators.validate, name, value) for name, value in asked['values']],
    'pairs': [pair(p) for p in asked['pairs']],
}, sys.stdout)
