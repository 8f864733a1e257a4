"""Reads options as the installed Neutron does, for TestParity.

stdin: a list of [kind, text]; stdout: a list of values, null where Neutron
refuses the text.
"""
import json
import sys

from neutron_lib.placement import utils
from neutron_lib.utils import helpers
from oslo_config import types

HOST = 'devstack0'
WORDS, PAIRS = types.List(), types.Dict()
READ = {
    'bandwidths': lambda t: utils.parse_rp_bandwidths(WORDS(t)),
    'with': lambda t: utils.parse_rp_pp_with_direction(WORDS(t), HOST),
    'without': lambda t: utils.parse_rp_pp_without_direction(WORDS(t), HOST),
    'inventory': lambda t: utils.parse_rp_inventory_defaults(PAIRS(t)),
    'bridges': lambda t: helpers.parse_mappings(WORDS(t)),
    'devices': lambda t: helpers.parse_mappings(WORDS(t), unique_keys=False),
}


def read(kind, text):
    try:
        return READ[kind](text)
    except ValueError:
        return None


json.dump([read(kind, text) for kind, text in json.load(sys.stdin)], sys.stdout)
