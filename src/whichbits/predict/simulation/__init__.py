"""Clients, a router and engines in virtual time, whatever sets the pace of a step."""
