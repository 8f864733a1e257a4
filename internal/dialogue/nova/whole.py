"""Runs the distribution's Nova for tests, all of it in one process: the API, a scheduler, a
conductor, and a compute for each host, whose hypervisor is one of Nova's own tests with a
network card added.

Usage: whole.py CONFIG CELL0 ADDRESS:PORT HOST=UUID...

CONFIG is a nova.conf that names two empty databases, and CELL0 is the URL of a third. The
services speak over a message bus in memory, and Keystone says who calls. A host's provider
has the UUID. These are POST requests below /-/:

    plugging network, token  hosts report the ports that they plug in to Berth's network service
    hold     host            the hypervisor of a host begins nothing more
    release  host            it goes on
    reset                    the rows of what users made, all of it deleted, are gone
    sql      statement, api  changes rows of the cell, or of the API, as no request does
"""

import eventlet

eventlet.monkey_patch()

import functools
import sys
import time

import eventlet.wsgi
import os_vif
import requests
import sqlalchemy
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
from nova.compute import power_state
from nova.compute import rpcapi as compute
from nova.conductor import rpcapi as conductor
from nova.db.api import api as api_db
from nova.db.main import api as main_db
from nova.objects import host_mapping
from nova.pci import utils as pci
from nova.scheduler import rpcapi as scheduler
from nova.virt import fake

import reference

CONF = conf.CONF

UUIDS = {}  # of providers, by host
HELD = set()  # hosts
SERVICES = []  # that run


def held(method):
    """A method of a Driver that begins when its host is not held."""
    @functools.wraps(method)
    def begin(self, *args, **kwargs):
        while self._host in HELD:
            time.sleep(0.01)
        return method(self, *args, **kwargs)
    return begin


class Driver(fake.MediumFakeDriver):
    """A hypervisor on a host with one card, ens5, that has four virtual functions."""

    network = token = None  # a service that hears of ports, and a token for it

    def plug(self, vifs):
        if self.network and vifs:
            requests.post('%s/berth/v1/hosts/%s/ports' % (self.network, self._host), headers={'X-Auth-Token': self.token},
                          json={'ports': {vif['id']: 'ACTIVE' for vif in vifs}}).raise_for_status()

    @held
    def spawn(self, *args, network_info=None, **kwargs):
        super().spawn(*args, network_info=network_info, **kwargs)
        self.plug(network_info)

    def arrived(self, vifs):
        """Servers that came from elsewhere have ports."""
        self._interfaces.update((vif['id'], vif) for vif in vifs)
        self.plug(vifs)

    @held
    def attach_interface(self, context, instance, image_meta, vif):
        super().attach_interface(context, instance, image_meta, vif)
        self.plug([vif])

    def post_live_migration_at_destination(self, context, instance, network_info, *args, **kwargs):
        super().post_live_migration_at_destination(context, instance, network_info, *args, **kwargs)
        self.instances[instance.uuid].state = instance.power_state
        self.arrived(network_info)

    # Nova's own driver for tests ignores these. The power is as with libvirt, where a suspended server has no domain.

    @held
    def pause(self, instance):
        self.instances[instance.uuid].state = power_state.PAUSED

    @held
    def unpause(self, instance):
        self.instances[instance.uuid].state = power_state.RUNNING

    @held
    def suspend(self, context, instance):
        self.instances[instance.uuid].state = power_state.SHUTDOWN

    @held
    def resume(self, context, instance, *args, **kwargs):
        self.instances[instance.uuid].state = power_state.RUNNING

    @held
    def reboot(self, context, instance, *args, **kwargs):
        super().reboot(context, instance, *args, **kwargs)
        self.instances[instance.uuid].state = power_state.RUNNING

    def finish_migration(self, context, migration, instance, disk_info, network_info, *args, **kwargs):
        super().finish_migration(context, migration, instance, disk_info, network_info, *args, **kwargs)
        self.arrived(network_info)

    @held
    def finish_revert_migration(self, context, instance, network_info, *args, **kwargs):
        super().finish_revert_migration(context, instance, network_info, *args, **kwargs)
        self.arrived(network_info)

    def get_available_resource(self, nodename):
        card = '0000:05:00.0'
        known = dict(product_id='154d', vendor_id='8086', status='available', numa_node=0, label='card')
        devices = [dict(known, address=card, dev_type='type-PF', parent_addr=None)]
        devices += [dict(known, address='0000:05:00.%d' % n, dev_type='type-VF', parent_addr=card, parent_ifname='ens5')
                    for n in range(1, 5)]
        return dict(super().get_available_resource(nodename), uuid=UUIDS[nodename],
                    pci_passthrough_devices=jsonutils.dumps(devices))


for name in ('power_off', 'power_on', 'destroy', 'detach_interface', 'migrate_disk_and_power_off', 'live_migration',
             'confirm_migration', 'snapshot'):
    setattr(Driver, name, held(getattr(Driver, name)))


class Control(reference.Commands):
    """What tests do besides requests."""

    def __init__(self, app, cell0):
        super().__init__(app)
        self.cell0 = cell0

    def plugging(self, network, token):
        Driver.network, Driver.token = network, token

    def hold(self, host):
        HELD.add(host)

    def release(self, host):
        HELD.discard(host)

    def sql(self, statement, api=False):
        with (api_db if api else main_db).get_engine().begin() as db:
            db.exec_driver_sql(statement)

    # Rows of the deployment, and of what is kept in memory.
    KEPT = {'services', 'compute_nodes', 'cell_mappings', 'host_mappings'}

    def reset(self):
        for engine in (main_db.get_engine(), api_db.get_engine(), sqlalchemy.create_engine(self.cell0)):
            with engine.begin() as db:
                db.execute(sqlalchemy.text('SET FOREIGN_KEY_CHECKS = 0'))
                for table in set(sqlalchemy.inspect(db).get_table_names()) - self.KEPT:
                    if db.execute(sqlalchemy.text('SELECT 1 FROM `%s` LIMIT 1' % table)).first():
                        db.execute(sqlalchemy.text('TRUNCATE TABLE `%s`' % table))
                db.execute(sqlalchemy.text('SET FOREIGN_KEY_CHECKS = 1'))
        for s in SERVICES:
            if s.binary == 'nova-compute':
                s.manager.update_available_resource(context.get_admin_context())


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
    eventlet.wsgi.server(listener, Control(app, cell0), log_output=False)


def start(binary, topic, host=None):
    one = service.Service.create(binary=binary, topic=topic, host=host)
    one.start()
    SERVICES.append(one)


if __name__ == '__main__':
    sys.modules['nova.virt.whole'] = sys.modules['__main__']  # where drivers are looked for
    main(*sys.argv[1:])
