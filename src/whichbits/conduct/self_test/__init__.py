"""The client against a mock whose times are known: up to which load can it be trusted on this machine?"""
