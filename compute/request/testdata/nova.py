"""Says what Nova would request from placement.

stdin: a list of requests as in parity_test.go.
stdout: a list: of parameters, of two such lists (with the query that finds hosts
which count dedicated CPUs as others), or a text when Nova refuses.
"""
import json
import sys
from urllib import parse

from nova import conf
from nova import context
from nova import exception
from nova import objects
from nova.pci import request as pci_request
from nova.scheduler import request_filter
from nova.scheduler import utils

objects.register_all()
CONF = conf.CONF
CONF([], project='nova', default_config_files=[])


class Aggregates:
    """Host aggregates without a database."""

    def __init__(self, rows):
        self.rows = [objects.Aggregate(uuid=r['uuid'], metadata=r['metadata']) for r in rows]

    def get_by_metadata(self, ctxt, key=None, value=None):
        return [a for a in self.rows
                if any((key is None or k == key) and (value is None or v == value) for k, v in a.metadata.items())]

    def get_non_matching_by_metadata_keys(self, ctxt, keys, prefix, value):
        return [a for a in self.rows
                if any(k.startswith(prefix) and v == value and k not in keys for k, v in a.metadata.items())]


class Hosts:
    def get_compute_nodes_by_host_or_node(self, ctxt, host, node, cell=None):
        return [objects.ComputeNode(uuid=host, host=host, hypervisor_hostname=host)]


OPTIONS = {
    'LimitTenants': 'limit_tenants_to_placement_aggregate',
    'TenantsNeedAggregate': 'placement_aggregate_required_for_tenants',
    'Zones': 'query_placement_for_availability_zone',
    'ImageTypes': 'query_placement_for_image_type_support',
    'IsolateAggregates': 'enable_isolated_aggregate_filtering',
    'ImageMetadata': 'image_metadata_prefilter',
}


def spec_of(r):
    flavor = objects.Flavor(extra_specs=r['specs'], name='m1', **r['flavor'])
    image = objects.ImageMeta.from_dict({
        'id': 'i', 'name': 'cirros', 'disk_format': r['format'], 'properties': dict(r['properties'])})
    spec = objects.RequestSpec(
        flavor=flavor, image=image, project_id=r['project'], availability_zone=r['zone'] or None, is_bfv=r['volume'],
        requested_networks=objects.NetworkRequestList(objects=[]), requested_resources=[],
        request_level_params=objects.RequestLevelParams(), requested_destination=None)
    if r['aliases']:
        spec.pci_requests = pci_request.get_pci_requests_from_flavor(flavor)
        for i, one in enumerate(spec.pci_requests.requests):
            one.request_id = 'pci%d' % i
        spec.generate_request_groups_from_pci_requests()
    if r['unlimited']:
        spec.scheduler_hints = {'group': ['g']}
    if r['in_tree']:
        spec.force_hosts = [r['in_tree']]
    for port in r['ports']:
        if port['old']:
            spec.requested_resources.append(objects.RequestGroup.from_port_request(None, port['id'], port['groups'][0]))
        else:
            request = {'request_groups': port['groups'], 'same_subtree': port['same_subtree']}
            spec.requested_resources.extend(objects.RequestGroup.from_extended_port_request(None, request))
            spec.request_level_params.extend_with(objects.RequestLevelParams.from_port_request(request))
    return spec


def asked(r):
    for field, option in OPTIONS.items():
        if option == 'query_placement_for_availability_zone' and option not in CONF.scheduler:
            continue  # since 2023.2 it is always on
        CONF.set_override(option, field in r['on'], 'scheduler')
    if r['aliases']:
        CONF.set_override('alias', r['aliases'], 'pci')
    if 'pci_in_placement' in CONF.filter_scheduler:
        CONF.set_override('pci_in_placement', bool(r['aliases']), 'filter_scheduler')
    aggregates = Aggregates(r['aggregates'])
    objects.AggregateList = objects.aggregate.AggregateList = aggregates
    ctxt = context.get_admin_context()
    # OWNER_NOVA counts once every nova-compute has version 73.
    objects.service.get_minimum_version_all_cells = lambda ctxt, binaries: 73 if 'Owner' in r['on'] else 72
    try:
        spec = spec_of(r)
        request_filter.process_reqspec(ctxt, spec)
        first = utils.resources_from_request_spec(ctxt, spec, Hosts(), enable_pinning_translate=True)
        answers = [params(first)]
        if first.cpu_pinning_requested:
            answers.append(params(utils.resources_from_request_spec(ctxt, spec, Hosts(), enable_pinning_translate=False)))
    except exception.RequestFilterFailed as e:
        return exception.NoValidHost(reason=e.message).format_message()
    except exception.NovaException as e:
        return e.format_message()
    return answers


def params(request):
    return sorted('='.join(p) for p in parse.parse_qsl(request.to_querystring(), keep_blank_values=True))


json.dump([asked(r) for r in json.load(sys.stdin)], sys.stdout)
