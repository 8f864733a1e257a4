"""Lists the options of the installed upstream service for TestUpstreamOptions."""
import json
import sys

from keystoneauth1 import loading
from keystonemiddleware.auth_token import _opts as token_opts
from oslo_config import cfg
from placement import conf as placement_conf
from placement.wsgi import _set_middleware_defaults


def main():
    conf = cfg.ConfigOpts()
    placement_conf.register_opts(conf)
    _set_middleware_defaults()
    entries = [entry('DEFAULT', info['opt']) for info in conf._opts.values()]
    for name, group in conf._groups.items():
        entries += [entry(name, info['opt']) for info in group._opts.values()]
    for _, opts in token_opts.list_opts():
        entries += [entry('keystone_authtoken', opt) for opt in opts]
    for plugin in ('password', 'v3password', 'v3applicationcredential'):
        for opt in loading.get_plugin_options(plugin):
            entries.append(entry('keystone_authtoken', opt._to_oslo_opt()))
    json.dump(entries, sys.stdout)


main()
