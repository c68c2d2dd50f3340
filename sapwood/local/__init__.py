"""A real model on this machine, without a key: SmolLM2 of 135 million parameters, behind llama.cpp's own server.

It comes with the extra `local`. So small a model proves that all is wired up, and is seldom right.
"""
