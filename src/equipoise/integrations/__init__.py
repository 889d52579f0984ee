"""Integrations: equipoise inside other tools, a module for each."""
