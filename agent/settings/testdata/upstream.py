"""Lists the options of the installed Neutron for TestUpstreamOptions.

stdout: a list of {"agent", "group", "name", "default", "older"}: agent is "ovs"
or "sriov" for what only that agent has, "both" for what both have, and "none"
for what other programs read from the same files; defaults are written as in a
file, older names as "group.name".
"""
import json
import sys

from neutron import opts
from oslo_log import _options as log_opts
from oslo_messaging import opts as bus_opts

OWN = {'ovs': 'ovs', 'sriov_nic': 'sriov'}
SHARED = ('agent', 'securitygroup', 'network_log', 'dhcp')


def written(value):
    if value is None:
        return ''
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return ','.join('%s:%s' % pair for pair in value.items())
    if isinstance(value, (list, tuple)):
        return ','.join(str(v) for v in value)
    return str(value)


def entry(agent, group, opt):
    older = ['%s.%s' % (d.group or group, d.name or opt.dest)
             for d in opt.deprecated_opts]
    return {'agent': agent, 'group': group, 'name': opt.dest,
            'older': older, 'default': written(opt.default)}


def main():
    entries = []
    lists = [opts.list_ovs_opts(), opts.list_sriov_agent_opts(),
             opts.list_agent_opts(), opts.list_base_agent_opts(),
             opts.list_az_agent_opts(), opts.list_linux_bridge_opts(),
             opts.list_ml2_conf_opts(), log_opts.list_opts()]
    others = [opts.list_opts(), opts.list_db_opts()[:1],
              opts.list_extension_opts(), opts.list_l3_agent_opts(),
              opts.list_dhcp_agent_opts(), opts.list_metadata_agent_opts(),
              opts.list_metering_agent_opts(), bus_opts.list_opts()]
    log_names = [o.dest for _, group in log_opts.list_opts() for o in group]
    for lst in lists + others:
        for group, options in lst:
            group = 'DEFAULT' if group in (None, 'DEFAULT') else group.lower()
            for opt in options:
                if group == 'DEFAULT' and opt.dest in log_names + ['state_path']:
                    entries.append(entry('both', group, opt))
                elif group == 'DEFAULT':
                    entries.append(entry('none', group, opt))
                elif group in OWN or group == 'ml2':
                    entries.append(entry(OWN.get(group, 'ovs'), group, opt))
                elif group in SHARED:
                    entries.append(entry('both', group, opt))
    json.dump(entries, sys.stdout)


main()
