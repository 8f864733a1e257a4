"""Lists the options of the installed Nova for TestNovaOptions.

The lists are those that Debian's nova.conf is generated from, and what the
plugins for credentials register besides.
"""
import importlib.metadata
import itertools
import json
import sys

from keystoneauth1 import loading

import nova.conf  # before nova.config, which needs it
from nova import config as nova_config

NAMESPACES = (
    'nova.conf', 'castellan.config', 'os_vif', 'os_brick', 'osprofiler',
    'oslo.cache', 'oslo.concurrency', 'oslo.db', 'oslo.db.concurrency',
    'oslo.limit', 'oslo.log', 'oslo.messaging', 'oslo.middleware',
    'oslo.policy', 'oslo.privsep', 'oslo.reports',
    'oslo.service.periodic_task', 'oslo.service.service',
    'oslo.versionedobjects', 'keystonemiddleware.audit',
    'keystonemiddleware.auth_token')


def main():
    nova_config.set_lib_defaults()
    points = {p.name: p for p in
              importlib.metadata.entry_points(group='oslo.config.opts')}
    listed = [points[name].load()() for name in NAMESPACES]
    entries = [entry(getattr(group, 'name', group) or 'DEFAULT', opt)
               for group, opts in itertools.chain(*listed) for opt in opts]
    for name in ('keystone_authtoken', 'placement', 'neutron'):
        for opt in loading.get_auth_common_conf_options():
            entries.append(entry(name, opt))
        for plugin in ('password', 'v3password', 'v3applicationcredential'):
            for opt in loading.get_plugin_options(plugin):
                entries.append(entry(name, opt._to_oslo_opt()))
    json.dump(entries, sys.stdout)


main()
