// Package neutron compares the dialogues in testdata with the distribution's Neutron, which they
// were recorded from. Package internal/dialogue/neutron defines their form and plays them.
package neutron
