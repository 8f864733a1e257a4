"""Reads what the installed Nova reads, for TestParity.

stdin: {"cpus": [text], "specs": [[text]], "devices": [device],
"names": [text], "providers": [[text of a file]], "placement": [[text]],
"sets": [options], "mdevs": [{"types", "groups", "cards"}],
"pages": [[text]], "models": [{"mode", "models", "flags", "skip", "host"}],
"cpu_table": {model: [feature]}}; stdout: the same
keys with lists of answers, null where Nova refuses, and "cpu_traits".
"""
import json
import logging
import os
import re
import sys
import tempfile
from unittest import mock

import nova.conf
from nova import exception
from nova.compute import pci_placement_translator as translator
from nova.compute import provider_config
from nova.pci import devspec
from nova.pci import utils
from nova.pci import whitelist
from nova.virt import hardware
from nova.virt.libvirt import config as vconfig
from nova.virt.libvirt import driver
from nova.virt.libvirt import utils as libvirt_utils

logging.disable(logging.CRITICAL)
CONF = nova.conf.CONF
CONF([], project='nova', default_config_files=[])
REFUSED = (exception.NovaException, AttributeError, TypeError, ValueError)
asked = json.load(sys.stdin)
PHYSICAL = {d['parent_addr'] for d in asked['devices'] if d['parent_addr']}


def refused(read):
    def answer(question):
        try:
            return read(question)
        except REFUSED:
            return None
    return answer


def cpus(text):
    found = hardware.parse_cpu_spec(text)
    if text and not found:
        raise ValueError('no CPU is left')
    return sorted(found)


def is_physical(domain, bus, slot, function):
    return '%s:%s:%s.%s' % (domain, bus, slot, function) in PHYSICAL


def specs(texts):
    with mock.patch.object(utils, 'is_physical_function', is_physical):
        wanted = whitelist.Whitelist(texts)
        answer = []
        for device in asked['devices']:
            numbers = [i + 1 for i, s in enumerate(wanted.specs)
                       if s.match(dict(device))]
            answer.append(numbers[0] if numbers else 0)
        return answer


def names(text):
    tags = json.loads(text)
    dev = mock.Mock(vendor_id='8086', product_id='154c')
    name = re.compile('^[A-Z][A-Z0-9_]{0,254}$')
    rc = translator._get_rc_for_dev(dev, tags)
    traits = sorted(translator._get_traits_for_dev(tags))
    for n in [rc] + traits:
        if not name.match(n):
            raise ValueError('placement refuses %s' % n)
    return {'class': rc, 'traits': traits}


def providers(files):
    with tempfile.TemporaryDirectory() as where:
        for i, text in enumerate(files):
            with open(os.path.join(where, '%d.yaml' % i), 'w') as f:
                f.write(text)
        found = provider_config.get_provider_configs(where)
    answer = []
    for name in sorted(found):
        p = found[name]
        inventories = {}
        for item in p.get('inventories', {}).get('additional', []):
            inventories.update(item)
        answer.append({
            'name': name, 'inventories': inventories,
            'traits': sorted(set(p.get('traits', {}).get('additional', [])))})
    return answer


def kind(device):
    if device['parent_addr']:
        return 'type-VF'
    return 'type-PF' if device['address'] in PHYSICAL else 'type-PCI'


def placement(texts):
    """Returns the providers that Nova makes of the devices."""
    with mock.patch.object(utils, 'is_physical_function', is_physical):
        wanted = whitelist.Whitelist(texts)
        translator.ensure_no_dev_spec_with_devname(wanted.specs)
        view = translator.PlacementView('cn1.example.org', [])
        for device in asked['devices']:
            spec = next((s for s in wanted.specs if s.match(dict(device))),
                        None)
            if spec:
                view.process_dev(mock.Mock(
                    status='available', dev_type=kind(device), **device), spec)
    return {rp.name: {'class': rp.resource_class, 'total': len(rp.devs),
                      'traits': sorted(rp.traits)}
            for rp in view.rps.values()}


def sets(options):
    """Returns how many of eight CPUs are VCPU and PCPU."""
    CONF.reset()
    CONF.clear()
    for name, value in options.items():
        group, _, option = name.rpartition('.')
        CONF.set_override(option, value, group=group or None)
    host = mock.Mock()
    host._host.get_online_cpus.return_value = set(range(8))
    driver.LibvirtDriver._check_cpu_set_configuration(host)
    return [len(driver.LibvirtDriver._get_vcpu_available(host)),
            len(driver.LibvirtDriver._get_pcpu_available(host))]


class Cards(driver.LibvirtDriver):
    """Knows mediated devices, and nothing else of a driver."""

    def __init__(self, cards):
        self.cards = cards
        self.pgpu_type_mapping = {}
        self.mdev_class_mapping = driver.collections.defaultdict(
            lambda: 'VGPU')
        self.mdev_classes = set()
        self.supported_vgpu_types = self._get_supported_vgpu_types()

    def _get_mediated_devices(self, types=None):
        return [{'parent': name, 'type': t}
                for name, kinds in self.cards.items()
                for t, (made, free) in kinds.items() if t in types
                for _ in range(made)]

    def _get_mdev_capable_devices(self, types=None):
        return [{'dev_id': name, 'types': {
                    t: {'availableInstances': free}
                    for t, (made, free) in kinds.items() if t in types}}
                for name, kinds in self.cards.items()]


def mdevs(question):
    """Returns the inventories of cards."""
    CONF.reset()
    CONF.clear()
    CONF.set_override('enabled_mdev_types', question['types'], group='devices')
    nova.conf.devices.register_dynamic_opts(CONF)
    for name, options in (question['groups'] or {}).items():
        for option, value in options.items():
            CONF.set_override(option, value, group=name)
    cards = Cards(question['cards'])
    try:
        return {name: {cards._get_resource_class_for_device(name): i['total']}
                for name, i in cards._get_gpu_inventories().items()
                if i['total']}
    finally:
        for t in question['types']:
            for option in list(CONF['mdev_' + t]):
                CONF.clear_override(option, group='mdev_' + t)


def pages(texts):
    """Returns how many pages are reserved, by node and size in kB."""
    CONF.reset()
    CONF.clear()
    CONF.set_override('reserved_huge_pages', texts)
    found = hardware.numa_get_reserved_huge_pages()
    return {node: {int(size): n for size, n in sizes.items()}
            for node, sizes in found.items()}


class Models(driver.LibvirtDriver):
    """Knows CPU models, and nothing else of a driver.

    What libvirt does is done here: models have the features of the table, and
    a host takes what it has.
    """

    def __init__(self, host):
        self.features = set(host)
        self.cpu_models_mapping = {}
        caps = vconfig.LibvirtConfigCaps()
        caps.host = vconfig.LibvirtConfigCapsHost()
        caps.host.cpu = vconfig.LibvirtConfigCPU()
        caps.host.cpu.arch = 'x86_64'
        for name in host:
            caps.host.cpu.add_feature(vconfig.LibvirtConfigCPUFeature(name))
        self._host = mock.Mock()
        self._host.get_capabilities.return_value = caps
        self._host.get_cpu_model_names.return_value = list(asked['cpu_table'])

    def _get_cpu_info(self):
        return {'arch': 'x86_64'}

    def _compare_cpu(self, guest, host, instance):
        wanted = set(asked['cpu_table'][guest.model])
        for f in guest.features:
            (wanted.discard if f.policy == 'disable' else wanted.add)(f.name)
        if wanted - self.features:
            raise exception.InvalidCPUInfo(reason='it lacks some')

    def _get_guest_baseline_cpu_features(self, xml):
        model = re.search('<model>(.*)</model>', xml).group(1)
        return '<cpu>%s</cpu>' % ''.join(
            "<feature name='%s'/>" % f for f in asked['cpu_table'][model])


def models(question):
    """Returns the traits of a host's CPUs."""
    CONF.reset()
    CONF.clear()
    for option, name in [('cpu_mode', 'mode'), ('cpu_models', 'models'),
                         ('cpu_model_extra_flags', 'flags')]:
        if question[name]:
            CONF.set_override(option, question[name], group='libvirt')
    CONF.set_override('skip_cpu_compare_at_startup', question['skip'],
                      group='workarounds')
    host = Models(question['host'])
    host._check_cpu_compatibility()
    return sorted(t for t, has in host._get_cpu_feature_traits().items()
                  if has)


READ = {'cpus': cpus, 'specs': specs, 'names': names, 'providers': providers,
        'placement': placement, 'sets': sets, 'mdevs': mdevs,
        'pages': pages, 'models': models}
out = {key: [refused(read)(q) for q in asked[key]]
       for key, read in READ.items()}
out['cpu_traits'] = {
    k: list(v) if isinstance(v, tuple) else [v]
    for k, v in libvirt_utils.CPU_TRAITS_MAPPING.items()}
json.dump(out, sys.stdout)
