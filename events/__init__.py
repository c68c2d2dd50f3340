"""The vocabulary: everything that can be said in a session. Pure data; imports nothing of ours.

`content`, `messages` and `entries` are what is stored; `runtime` is news, `hooks` are questions to extensions, `commands` is what a
host may ask and `requests` what actors ask of each other; `codec` turns lines and events into these and back.
"""
