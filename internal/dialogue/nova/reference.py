"""Runs the distribution's Nova API for tests, in one process and on SQLite.

Usage: reference.py DIRECTORY ADDRESS:PORT

Tokens are the names of people, who are in PEOPLE. Nova's computes speak over a
message bus, which is not here: what they would say comes as POST requests below
/-/ and goes into the rows that they would write.

    reset             all rows are again what they were at the start
    report  host      a compute service and its hypervisor are there and alive
    silence host      the last report of a service was a day ago
    server  name ...  there is a server, as if a host had built it: see Control.server
    migration ...     a server moves, or has moved: see Control.migration
"""

import eventlet

eventlet.monkey_patch()

import datetime
import json
import os
import sqlite3
import sys

import eventlet.wsgi
import sqlalchemy
from oslo_utils import timeutils

from nova import conf
from nova import config
from nova import context
from nova import objects
from nova import rpc
from nova.api import openstack as faults
from nova.api.openstack import compute
from nova.api.openstack.compute import versions
from nova.api.openstack import identity
from nova.api.openstack import urlmap
from nova.compute import rpcapi
from nova.db.api import api as api_db
from nova.db.api import models as api_models
from nova.db.main import api as main_db
from nova.db.main import models as main_models
from nova.network import model as network_model
from nova.network import security_group_api
from nova.notifications import base as notifications
from nova.scheduler.client import query
from nova.scheduler.client import report

CONF = conf.CONF

CELL1 = '11111111-1111-1111-1111-111111111111'

DEMO, OTHER = 'bb97402a60c6465ba86323edee57a55e', '6622d0e44b8a41d2af0f24ce7f6ca799'
PEOPLE = {
    'admin': (DEMO, ['admin', 'member', 'reader']),
    'member': (DEMO, ['member', 'reader']),
    'reader': (DEMO, ['reader']),
    'other': (OTHER, ['member', 'reader']),
    'service': ('service', ['service']),
}

CONFIG = """
[DEFAULT]
state_path = {dir}
transport_url = fake:/
[database]
connection = sqlite:///{dir}/main.db
[api_database]
connection = sqlite:///{dir}/api.db
[oslo_concurrency]
lock_path = {dir}
[keystone]
service_type = identity
"""


def main(directory, address):
    path = os.path.join(directory, 'nova.conf')
    with open(path, 'w') as f:
        f.write(CONFIG.format(dir=directory))
    objects.register_all()
    config.parse_args(['nova-api', '--config-file', path])
    make_tables(CONF.database.connection.replace('main.db', 'cell0.db'))
    detach()
    host, port = address.split(':')
    # Without reuse_port=False a second server could take half of the requests.
    listener = eventlet.listen((host, int(port)), reuse_port=False)
    eventlet.wsgi.server(listener, Control(application(Auth), directory), log_output=False)


def make_tables(nowhere):
    """Makes the tables of the API, of the one cell, and of cell0, which is the database nowhere."""
    for base in (main_models.BASE, api_models.BASE):
        for table in base.metadata.tables.values():
            table.dialect_kwargs['mysql_charset'] = 'utf8'  # as the migrations have it: some keys are long
    main_models.BASE.metadata.create_all(main_db.get_engine())
    api_models.BASE.metadata.create_all(api_db.get_engine())
    main_models.BASE.metadata.create_all(sqlalchemy.create_engine(nowhere))
    ctxt = context.get_admin_context()
    for name, uuid, database in (('cell0', objects.CellMapping.CELL0_UUID, nowhere), ('cell1', CELL1, CONF.database.connection)):
        objects.CellMapping(ctxt, uuid=uuid, name=name, transport_url='fake:/', database_connection=database).create()


class Nobody:
    """A peer service that accepts every request and answers nothing."""

    def __getattr__(self, name):
        return lambda *args, **kwargs: None


def unknown(self, *args, **kwargs):
    """What a compute answers whose driver does not know."""
    raise NotImplementedError


def detach():
    """No request goes to peer services."""
    report.report_client_singleton = Nobody
    for name in ('update_aggregates', 'delete_aggregate'):
        setattr(query.SchedulerQueryClient, name, lambda self, *args, **kwargs: None)
    rpcapi.ComputeAPI.set_host_enabled = lambda self, *args, **kwargs: None
    rpcapi.ComputeAPI.get_host_uptime = unknown
    identity.verify_project_id = lambda ctxt, project_id: True
    notifications.send_instance_update_notification = lambda *args, **kwargs: None
    security_group_api.get_instances_security_groups_bindings = (
        lambda ctxt, servers, detailed=False: {s['id']: [{'name': 'default'}] for s in servers if s['addresses']})


def application(auth):
    """Nova's API behind what auth makes of an application, which says who calls."""
    v21 = faults.FaultWrapper(auth(compute.APIRouterV21()))
    root = urlmap.URLMap()
    root['/v2.1/+'] = v21
    root['/v2.1'] = faults.FaultWrapper(versions.VersionsV2())
    root['/'] = faults.FaultWrapper(versions.Versions())
    return root


class Auth:
    """An application with the caller in its environment."""

    def __init__(self, app):
        self.app = app

    def __call__(self, environ, start_response):
        name = environ.get('HTTP_X_AUTH_TOKEN')
        if name not in PEOPLE:
            start_response('401 Unauthorized', [('Content-Type', 'application/json')])
            return [b'{}']
        project, roles = PEOPLE[name]
        environ['nova.context'] = context.RequestContext(
            user_id=name, project_id=project, roles=roles, auth_token=name, remote_address='127.0.0.1', service_catalog=[])
        return self.app(environ, start_response)


class Commands:
    """An application with /-/ added: a method for each path there."""

    def __init__(self, app):
        self.app = app

    def __call__(self, environ, start_response):
        path = environ['PATH_INFO']
        if not path.startswith('/-/'):
            return self.app(environ, start_response)
        body = environ['wsgi.input'].read()
        getattr(self, path.removeprefix('/-/'))(**json.loads(body or '{}'))
        start_response('204 No Content', [])
        return []


class Control(Commands):
    """What the computes would say."""

    def __init__(self, app, directory):
        super().__init__(app)
        self.paths = [os.path.join(directory, name) for name in ('main.db', 'api.db')]
        self.start = []
        for path in self.paths:
            copy = sqlite3.connect(':memory:')
            with sqlite3.connect(path) as db:
                db.backup(copy)
            self.start.append(copy)

    def reset(self):
        for path, copy in zip(self.paths, self.start):
            with sqlite3.connect(path) as db:
                copy.backup(db)

    def report(self, host):
        ctxt = context.get_admin_context()
        now = timeutils.utcnow()
        service = objects.Service(ctxt, host=host, binary='nova-compute', topic='compute', report_count=1,
                                  disabled=False, forced_down=False, last_seen_up=now)
        service.create()
        objects.ComputeNode(
            ctxt, host=host, hypervisor_hostname=host, vcpus=8, memory_mb=8192, local_gb=100, vcpus_used=0, memory_mb_used=512,
            local_gb_used=0, hypervisor_type='fake', hypervisor_version=1000, cpu_info='{}', free_ram_mb=7680, free_disk_gb=100,
            current_workload=0, running_vms=0, disk_available_least=100, host_ip='192.0.2.1', supported_hv_specs=[],
            cpu_allocation_ratio=4.0, ram_allocation_ratio=1.0, disk_allocation_ratio=1.0, mapped=1).create()
        cell = objects.CellMapping.get_by_uuid(ctxt, CELL1)
        objects.HostMapping(ctxt, host=host, cell_mapping=cell).create()

    def server(self, name, id, flavor, image, project='demo', user='member', host=None, vm_state='active',
               task_state=None, fault=None, port=None):
        """A server of a flavor that there is; a port is its network's name, its MAC address and its IP address."""
        ctxt = context.get_admin_context()
        cell = objects.CellMapping.get_by_uuid(ctxt, CELL1)
        ctxt.project_id, ctxt.user_id = {'demo': DEMO, 'other': OTHER}[project], user
        now = timeutils.utcnow()
        vifs = []
        if port:
            subnet = network_model.Subnet(cidr='10.0.0.0/8', ips=[network_model.FixedIP(address=port['ip'])])
            network = network_model.Network(id=port['network_id'], label=port['network'], subnets=[subnet])
            vifs = [network_model.VIF(id=port['id'], address=port['mac'], network=network)]
        size = objects.Flavor.get_by_flavor_id(ctxt, flavor)
        instance = objects.Instance(
            ctxt, uuid=id, display_name=name, hostname=name, project_id=ctxt.project_id, user_id=user, host=host, node=host,
            vm_state=vm_state, task_state=task_state, power_state=1 if vm_state == 'active' else 0, image_ref=image,
            flavor=size, vcpus=size.vcpus, memory_mb=size.memory_mb,
            root_gb=size.root_gb, ephemeral_gb=size.ephemeral_gb, launched_at=now if host else None, kernel_id='', ramdisk_id='',
            reservation_id='r-01234567', launch_index=0, config_drive='', metadata={}, system_metadata={}, auto_disk_config=False,
            locked=False, progress=0, info_cache=objects.InstanceInfoCache(network_info=network_model.NetworkInfo(vifs)))
        with context.target_cell(ctxt, cell) as cctxt:
            instance._context = cctxt
            instance.create()
            if fault:
                objects.InstanceFault(cctxt, instance_uuid=id, host=host, **fault).create()
            action = objects.InstanceAction.action_start(cctxt, id, 'create', want_result=True)
            objects.InstanceActionEvent.event_start(cctxt, id, 'compute__do_build_and_run_instance', host=host)
            objects.InstanceActionEvent.event_finish_with_failure(cctxt, id, 'compute__do_build_and_run_instance')
        objects.InstanceMapping(
            ctxt, instance_uuid=id, project_id=ctxt.project_id, user_id=user, cell_mapping=cell, queued_for_delete=False).create()

    def migration(self, name, server, type, status, flavor, source=None, dest=None, user='admin'):
        """A move of a server to a host, at whose address a cold one arrives."""
        ctxt = context.get_admin_context()
        with context.target_cell(ctxt, objects.CellMapping.get_by_uuid(ctxt, CELL1)) as cctxt:
            size = objects.Flavor.get_by_flavor_id(cctxt, flavor).id
            objects.Migration(
                cctxt, uuid=name, instance_uuid=server, migration_type=type, status=status, source_compute=source, source_node=source,
                dest_compute=dest, dest_node=dest, dest_host=None if type == 'live-migration' or not dest else '192.0.2.1',
                old_instance_type_id=size, new_instance_type_id=size, user_id=user, project_id=DEMO).create()

    def silence(self, host):
        then = timeutils.utcnow() - datetime.timedelta(days=1)
        with sqlite3.connect(self.paths[0]) as db:
            db.execute('UPDATE services SET last_seen_up = ?, updated_at = ? WHERE host = ?', (str(then), str(then), host))


if __name__ == '__main__':
    main(*sys.argv[1:])
