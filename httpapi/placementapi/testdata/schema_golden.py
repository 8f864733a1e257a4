"""Writes schema_golden.json: what upstream's schemas and jsonschema say.

Run it where python3-placement 16 and python3-jsonschema 4.26 are installed:

    python3 schema_golden.py [CASES] [SEED] > schema_golden.json

CASES is the number of cases for each schema. The result has the schema each
route uses at each minor version, and cases: a value, and the error it gets.
Schemas as they are laid out in errors are kept once, in "layouts".
"""

import copy
import json
import random
import sys

import jsonschema
from placement.schemas import aggregate
from placement.schemas import allocation
from placement.schemas import allocation_candidate
from placement.schemas import inventory
from placement.schemas import reshaper
from placement.schemas import resource_class
from placement.schemas import resource_provider
from placement.schemas import trait
from placement.schemas import usage
from placement import util

P, A, C = resource_provider, allocation, allocation_candidate
U1 = '4e8e5957-649f-477b-9e5b-f1f75b21c03c'
U2 = 'a1b2c3d4e5f60718293a4b5c6d7e8f90'

# Route, is it a query, the schemas by the first minor version, valid values.
INV = {'resource_provider_generation': 1, 'total': 16, 'reserved': 0,
       'min_unit': 1, 'max_unit': 16, 'step_size': 1, 'allocation_ratio': 1.5}
RECORD = {k: v for k, v in INV.items() if k != 'resource_provider_generation'}
INVS = {'resource_provider_generation': 1,
        'inventories': {'VCPU': RECORD, 'CUSTOM_X': {'total': 5}}}
LISTED = {'allocations': [{'resource_provider': {'uuid': U1},
                           'resources': {'VCPU': 1, 'MEMORY_MB': 1024}}]}
OWNED = dict(LISTED, project_id='p', user_id='u')
CLAIM12 = {'allocations': {U1: {'resources': {'VCPU': 1, 'DISK_GB': 20},
                                'generation': 2}},
           'project_id': 'p', 'user_id': 'u'}
CLAIM28 = dict(CLAIM12, consumer_generation=None)
CLAIM34 = dict(CLAIM28, mappings={'': [U1], '_PORT': [U1, U2]})
CLAIM38 = dict(CLAIM34, consumer_type='INSTANCE')


def shape(claim):
    return {'inventories': {U1: INVS}, 'allocations': {U2[:4] + U1[4:]: claim}}


ROUTES = [
    ('providersPost', False, {0: P.POST_RESOURCE_PROVIDER_SCHEMA,
                              14: P.POST_RP_SCHEMA_V1_14},
     {0: {'name': 'a', 'uuid': U2},
      14: {'name': 'a', 'uuid': U1, 'parent_provider_uuid': None}}),
    ('providersPut', False, {0: P.PUT_RESOURCE_PROVIDER_SCHEMA,
                            14: P.PUT_RP_SCHEMA_V1_14},
     {0: {'name': 'a'}, 14: {'name': 'a', 'parent_provider_uuid': U1}}),
    ('providersList', True, {0: P.GET_RPS_SCHEMA_1_0, 3: P.GET_RPS_SCHEMA_1_3,
                            4: P.GET_RPS_SCHEMA_1_4,
                            14: P.GET_RPS_SCHEMA_1_14,
                            18: P.GET_RPS_SCHEMA_1_18},
     {0: {'name': 'a', 'uuid': U1}, 3: {'member_of': U1},
      4: {'resources': 'VCPU:1', 'uuid': U1}, 14: {'in_tree': U1},
      18: {'required': 'A', 'in_tree': U1, 'name': 'x'}}),
    ('inventoryPost', False, {0: inventory.POST_INVENTORY_SCHEMA},
     {0: dict(INV, resource_class='VCPU')}),
    ('inventoriesPut', False, {0: inventory.PUT_INVENTORY_SCHEMA}, {0: INVS}),
    ('inventoryPut', False, {0: inventory.BASE_INVENTORY_SCHEMA}, {0: INV}),
    ('aggregatesPut', False, {1: aggregate.PUT_AGGREGATES_SCHEMA_V1_1,
                              19: aggregate.PUT_AGGREGATES_SCHEMA_V1_19},
     {1: [U1, U2], 19: {'aggregates': [U1, U2],
                        'resource_provider_generation': 3}}),
    ('traitName', False, {6: trait.CUSTOM_TRAIT}, {6: 'CUSTOM_A'}),
    ('providerTraitsPut', False, {6: trait.SET_TRAITS_FOR_RP_SCHEMA},
     {6: {'traits': ['CUSTOM_A', 'B'], 'resource_provider_generation': 1}}),
    ('traitsList', True, {6: trait.LIST_TRAIT_SCHEMA},
     {6: {'name': 'in:A', 'associated': 'true'}}),
    ('classesPost', False, {2: resource_class.POST_RC_SCHEMA_V1_2},
     {2: {'name': 'CUSTOM_A'}}),
    ('classesPut', False, {2: resource_class.PUT_RC_SCHEMA_V1_2},
     {2: {'name': 'CUSTOM_A'}}),
    ('allocationsPut', False, {0: A.ALLOCATION_SCHEMA,
                               8: A.ALLOCATION_SCHEMA_V1_8,
                               12: A.ALLOCATION_SCHEMA_V1_12,
                               28: A.ALLOCATION_SCHEMA_V1_28,
                               34: A.ALLOCATION_SCHEMA_V1_34,
                               38: A.ALLOCATION_SCHEMA_V1_38},
     {0: LISTED, 8: OWNED, 12: CLAIM12, 28: CLAIM28, 34: CLAIM34,
      38: CLAIM38}),
    ('allocationsPost', False, {13: A.POST_ALLOCATIONS_V1_13,
                                28: A.POST_ALLOCATIONS_V1_28,
                                34: A.POST_ALLOCATIONS_V1_34,
                                38: A.POST_ALLOCATIONS_V1_38},
     {13: {U1: CLAIM12}, 28: {U1: CLAIM28}, 34: {U1: CLAIM34},
      38: {U1: CLAIM38}}),
    ('reshaperPost', False, {30: reshaper.POST_RESHAPER_SCHEMA,
                             34: reshaper.POST_RESHAPER_SCHEMA_V1_34,
                             38: reshaper.POST_RESHAPER_SCHEMA_V1_38},
     {30: shape(CLAIM28), 34: shape(CLAIM34), 38: shape(CLAIM38)}),
    ('usagesList', True, {9: usage.GET_USAGES_SCHEMA_1_9,
                         38: usage.GET_USAGES_SCHEMA_V1_38},
     {9: {'project_id': 'p', 'user_id': 'u'},
      38: {'project_id': 'p', 'consumer_type': 'all'}}),
    ('candidatesList', True,
     {n: getattr(C, 'GET_SCHEMA_1_%d' % n)
      for n in (10, 16, 17, 21, 25, 31, 33, 35, 36)},
     {10: {'resources': 'VCPU:1'}, 16: {'resources': 'V:1', 'limit': '1'},
      17: {'resources': 'V:1', 'required': 'A'},
      21: {'resources': 'V:1', 'member_of': U1},
      25: {'resources1': 'V:1', 'group_policy': 'none', 'limit': '2'},
      31: {'resources': 'V:1', 'in_tree2': 'x'},
      33: {'resources_A': 'V:1', 'required_A': 'T'},
      35: {'resources': 'V:1', 'root_required': 'T'},
      36: {'resources_A': 'V:1', 'same_subtree': '_A', 'limit': '4'}}),
]

ODD = [None, True, False, 0, 1, -1, 1.0, 1.5, 2147483647, 2147483648, 10 ** 30,
       -10 ** 25, 1e39, float('nan'), float('inf'), -0.0, '', 'x', "it's",
       'a\nb', 'X' * 201, 'word ' * 52, 'é€😀\u200b', '\ud800', U1, U2,
       '{' + U1 + '}', 'urn:uuid:' + U1, U1[:-1], U1.upper(), U1 + '\n', '12',
       'VCPU\n', 'CUSTOM_\n', 'all', 'unknown', 'ALLx', 'allx', 'none', [], {},
       [1, 1.0], [True, 1], ['a', 'a'], [U1, U1], [None, None], [[1], [1]],
       [{'a': 1, 'b': 2}, {'b': 2, 'a': 1}], [5, 'x'], {'a': 1}, {'': None},
       {'VCPU': 0, 'x': 1}, {U1: {}}, {'zz': 1, 'a': [{'k' * 60: ['v ' * 40]}]}]
KEYS = ['', 'x', 'VCPU', 'vcpu', 'VCPU\n', U1, U2, U1 + '\n', 'resources',
        'resources1', 'resources_A', 'required', 'member_of9', 'in_tree',
        'limit', 'group_policy', 'a b', "it's", 'é', '\udfff', 'total',
        'name', 'uuid', 'consumer_type', 'generation', 'zebra']
TEXTS = [v for v in ODD if isinstance(v, str) and v != '\ud800'] + [
    '0', '01', '1', '-1', 'isolate', 'bogus', U2[:8] + '-', 'ALL', 'a|b',
    '+b2c3d45-e5f6-0718-293a-4b5c6d7e8f90',
    '0xb2c3d4-e5f6-0718-293a-4b5c6d7e8f90',
    'a_b2c3d4-e5f6-0718-293a-4b5c6d7e8f9_', 'a_b2c3d4-e5f6-0718-2__a-4b5c6d7e8f90',
    ' 1b2c3d4-e5f6-0718-293a-4b5c6d7e8f9 ', '٣1b2c3d4-e5f6-0718-293a-4b5c6d7e8f9'[:36]]


def places(value, path=()):
    yield path
    items = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for k, v in items:
        yield from places(v, path + (k,))


def at(value, path):
    for k in path:
        value = value[k]
    return value


def mutate(rnd, value, query):
    path = rnd.choice(list(places(value)))
    if not path and (query or rnd.random() < 0.8):
        path = rnd.choice(list(places(value)))
    here = at(value, path)
    odd = copy.deepcopy(rnd.choice(TEXTS if query else ODD))
    if isinstance(here, dict) and (query or rnd.random() < 0.75):
        keys = list(here)
        kind = rnd.randrange(4)
        if kind == 0 and keys:
            del here[rnd.choice(keys)]
        elif kind == 1 and keys:
            k = rnd.choice(keys)
            v = here.pop(k)
            here[rnd.choice(KEYS)] = v
        else:
            here[rnd.choice(KEYS)] = odd
    elif isinstance(here, list) and rnd.random() < 0.75:
        here.insert(rnd.randrange(len(here) + 1),
                    copy.deepcopy(rnd.choice(here)) if here and
                    rnd.random() < 0.4 else odd)
    elif path:
        at(value, path[:-1])[path[-1]] = odd
    else:
        return odd
    return value


def error(value, schema, query):
    checker = (jsonschema.FormatChecker() if query
               else util._FORMAT_CHECKER)
    try:
        jsonschema.validate(value, schema, format_checker=checker)
    except jsonschema.ValidationError as exc:
        return str(exc), exc
    return '', None


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    rnd = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    layouts, schemas, cases = [], [], []

    def intern(text):
        if text not in layouts:
            layouts.append(text)
        return layouts.index(text)

    for name, query, by_minor, valid in ROUTES:
        for minor, schema in by_minor.items():
            schemas.append({'route': name, 'minor': minor,
                            'schema': repr(schema)})
            values = [valid[minor]]
            while len(values) < count:
                v = copy.deepcopy(valid[minor])
                for _ in range(rnd.choice([1, 1, 1, 2, 2, 3, 4])):
                    v = mutate(rnd, v, query)
                values.append(v)
            for v in values:
                text, exc = error(v, schema, query)
                case = {'route': name, 'minor': minor, 'body': json.dumps(v)}
                if exc is not None:
                    head, rest = text.split(':\n    ', 1) if \
                        ':\n    ' in text else (text, '')
                    layout, tail = rest.split('\n\nOn instance', 1)
                    case.update(head=head, layout=intern(layout), tail=tail)
                cases.append(case)

    def lines(key, items):
        rows = ',\n'.join(json.dumps(i) for i in items)
        return '"%s": [\n%s\n]' % (key, rows)

    print('{' + ',\n'.join([lines('schemas', schemas), lines('layouts', layouts),
                            lines('cases', cases)]) + '}')


main()
