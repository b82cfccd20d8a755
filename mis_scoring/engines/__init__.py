"""Engines, one a file, behind `mis_scoring.core.engine.Engine`; torch is loaded when one is constructed, not before."""
