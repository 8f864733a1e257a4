"""Lists the options of the installed Neutron server for TestNeutronOptions.

The lists are those that Debian's neutron.conf and
ml2_conf.ini are generated from, and what the server registers besides.
"""
import importlib.metadata
import itertools
import json
import sys

from keystoneauth1 import loading

from neutron.common import config as neutron_config
from neutron.conf import quota

NAMESPACES = (
    'neutron', 'neutron.extensions', 'neutron.db', 'neutron.base.agent',
    'neutron.ml2', 'neutron.ml2.ovn', 'nova.auth', 'placement.auth', 'oslo.db',
    'oslo.db.concurrency', 'oslo.log', 'oslo.messaging',
    'oslo.middleware.cors', 'oslo.middleware.http_proxy_to_wsgi',
    'oslo.policy', 'oslo.service.periodic_task', 'oslo.service.service',
    'oslo.service.sslutils', 'oslo.service.wsgi',
    'keystonemiddleware.auth_token')


def main():
    neutron_config.set_config_defaults()
    points = {p.name: p for p in
              importlib.metadata.entry_points(group='oslo.config.opts')}
    listed = [points[name].load()() for name in NAMESPACES]
    entries = [entry(group or 'DEFAULT', opt)
               for group, opts in itertools.chain(*listed) for opt in opts]
    for name in ('keystone_authtoken', 'placement', 'nova'):
        for opt in loading.get_auth_common_conf_options():
            entries.append(entry(name, opt))
        for plugin in ('password', 'v3password', 'v3applicationcredential'):
            for opt in loading.get_plugin_options(plugin):
                entries.append(entry(name, opt._to_oslo_opt()))
    entries += [entry('quotas', opt) for opt in quota.rbac_quota_opts]
    json.dump(entries, sys.stdout)


main()
