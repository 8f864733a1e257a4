"""Runs the distribution's Neutron for tests, in one process, on SQLite or MariaDB.

Usage: reference.py CONFIG ADDRESS:PORT

Neutron's agents speak over a message bus, which is not here. What they would say
comes as POST requests below /-/ and goes to the code that would receive it:

    reset                        all rows are again what they were at the start, on SQLite only
    report   agent_state         a heartbeat of an agent
    silence  agent_type, host    the last heartbeat of an agent was a day ago
    wired    port, host          the agent has plugged the port in
    sql      statement           changes rows, as no request does
"""

import eventlet

eventlet.monkey_patch()

import datetime
import json
import sqlite3
import sys

import eventlet.wsgi
from neutron_lib import constants
from neutron_lib import context
from neutron_lib.db import api as db_api
from neutron_lib.plugins import directory
from oslo_config import cfg
from oslo_utils import timeutils
from sqlalchemy import engine

from neutron.common import config
from neutron.db import agents_db
from neutron.db.migration.models import head
from neutron.objects import agent


def main(conf, address):
    config.register_common_config_options()
    config.init(['--config-file', conf])
    config.setup_logging()
    config.set_config_defaults()
    # The migrations cannot run on SQLite.
    metadata = head.get_metadata()
    for table in metadata.tables.values():
        table.dialect_kwargs['mysql_charset'] = 'utf8'  # as the migrations have it: some keys are long
    metadata.create_all(db_api.CONTEXT_WRITER.get_engine())
    app = config.load_paste_app('neutron')
    host, port = address.split(':')
    # Without reuse_port=False a second server could take half of the requests.
    listener = eventlet.listen((host, int(port)), reuse_port=False)
    eventlet.wsgi.server(listener, Control(app), log_output=False)


class Control:
    """An application with /-/ added."""

    def __init__(self, app):
        self.app = app
        url = engine.make_url(cfg.CONF.database.connection)
        if not url.drivername.startswith('sqlite'):
            return
        self.path = url.database
        self.start = sqlite3.connect(':memory:')
        with sqlite3.connect(self.path) as db:
            db.backup(self.start)

    def __call__(self, environ, start_response):
        path = environ['PATH_INFO']
        if not path.startswith('/-/'):
            return self.app(environ, start_response)
        body = environ['wsgi.input'].read()
        getattr(self, path.removeprefix('/-/'))(**json.loads(body or '{}'))
        start_response('204 No Content', [])
        return []

    def reset(self):
        with sqlite3.connect(self.path) as db:
            self.start.backup(db)

    def report(self, agent_state):
        # Reports from before the start are dropped, and the start may have been
        # in this second.
        now = timeutils.utcnow() + datetime.timedelta(seconds=2)
        agents_db.AgentExtRpcCallback().report_state(
            context.get_admin_context(), agent_state={'agent_state': agent_state},
            time=now.strftime(constants.ISO8601_TIME_FORMAT))
        self.settle()

    def settle(self):
        """Waits until what a report asks of placement is done."""
        notifier = directory.get_plugin('placement_report')._batch_notifier
        eventlet.sleep(0)
        while notifier._mutex.locked() or not notifier._pending_events.empty():
            eventlet.sleep(0.01)

    def silence(self, agent_type, host):
        found = agent.Agent.get_object(
            context.get_admin_context(), agent_type=agent_type, host=host)
        found.heartbeat_timestamp = timeutils.utcnow() - datetime.timedelta(days=1)
        found.update()

    def wired(self, port, host):
        directory.get_plugin().update_port_status(
            context.get_admin_context(), port, constants.PORT_STATUS_ACTIVE, host)

    def sql(self, statement):
        with db_api.CONTEXT_WRITER.get_engine().begin() as db:
            db.exec_driver_sql(statement)


if __name__ == '__main__':
    main(*sys.argv[1:])
