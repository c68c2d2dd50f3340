"""Words for people: text safe for a terminal (`wording`), sessions in a few words (`describing`), what stands at a path (`paths`)."""
