"""Runs the distribution's Nova for tests, all of it in one process: the API, a scheduler, a
conductor, and a compute for each host, whose hypervisor is one of Nova's own tests with a
network card added.

Usage: whole.py CONFIG CELL0 ADDRESS:PORT HOST=UUID...

CONFIG is a nova.conf that names two empty databases, and CELL0 is the URL of a third. The
services speak over a message bus in memory, and Keystone says who calls. A host's provider
has the UUID.
"""

import eventlet

eventlet.monkey_patch()

import sys

import eventlet.wsgi
import os_vif
from keystonemiddleware import auth_token
from oslo_log import log as logging
from oslo_serialization import jsonutils

from nova import conf
from nova import config
from nova import context
from nova import objects
from nova import service
from nova.api import auth
from nova.api import compute_req_id
from nova.compute import rpcapi as compute
from nova.conductor import rpcapi as conductor
from nova.objects import host_mapping
from nova.pci import utils as pci
from nova.scheduler import rpcapi as scheduler
from nova.virt import fake

import reference

CONF = conf.CONF

UUIDS = {}  # of providers, by host


class Driver(fake.MediumFakeDriver):
    """A hypervisor on a host with one card, ens5, that has four virtual functions."""

    def get_available_resource(self, nodename):
        card = '0000:05:00.0'
        known = dict(product_id='154d', vendor_id='8086', status='available', numa_node=0, label='card')
        devices = [dict(known, address=card, dev_type='type-PF', parent_addr=None)]
        devices += [dict(known, address='0000:05:00.%d' % n, dev_type='type-VF', parent_addr=card, parent_ifname='ens5')
                    for n in range(1, 5)]
        return dict(super().get_available_resource(nodename), uuid=UUIDS[nodename],
                    pci_passthrough_devices=jsonutils.dumps(devices))


def main(path, cell0, address, *hosts):
    UUIDS.update(host.split('=') for host in hosts)
    objects.register_all()
    config.parse_args(['nova', '--config-file', path])
    logging.setup(CONF, 'nova')
    os_vif.initialize()
    reference.make_tables(cell0)
    # The kernel knows nothing of this card.
    pci.get_mac_by_pci_address = lambda *args, **kwargs: '52:54:00:1e:59:c6'
    pci.get_vf_num_by_pci_address = lambda address: int(address[-1])
    start('nova-conductor', conductor.RPC_TOPIC)
    start('nova-scheduler', scheduler.RPC_TOPIC)
    for host in UUIDS:
        start('nova-compute', compute.RPC_TOPIC, host)
    host_mapping.discover_hosts(context.get_admin_context())
    app = compute_req_id.ComputeReqIdMiddleware(reference.application(
        lambda app: auth_token.AuthProtocol(auth.NovaKeystoneContext(app), {'oslo_config_config': CONF})))
    name, port = address.split(':')
    # Without reuse_port=False a second server could take half of the requests.
    listener = eventlet.listen((name, int(port)), reuse_port=False)
    eventlet.wsgi.server(listener, app, log_output=False)


def start(binary, topic, host=None):
    service.Service.create(binary=binary, topic=topic, host=host).start()


if __name__ == '__main__':
    sys.modules['nova.virt.whole'] = sys.modules['__main__']  # where drivers are looked for
    main(*sys.argv[1:])
