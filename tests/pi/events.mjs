// What the real Pi tells its listeners while a story is played: one process, many stories.
//
// Start:   PI_ROOT=<folder whose node_modules holds Pi> <node> tests/pi/events.mjs
// Speak:   one JSON object a line on stdin; one JSON object a line on stdout, in the same order. Anything that goes wrong is
//          { error: text } for that question alone. A whole AgentSession runs here, so Node 22.19 or newer is needed.
//
//   { op: "play", story } -> { events }: the public events in order, each as { type, ...facts }; the facts are in `FACTS`
//
// A story is { past, window, settings, tools, answers, summaries, steps }:
//
//   past       messages that the session has when it is opened: ["user", text], or ["assistant", text, tokens]
//   settings   Pi's own, as a settings file has them
//   tools      [{ name, seconds?, fails?, tells?, alone?, last? }]  takes a number `n`; `fails` is the error that it throws, `tells` what it
//              says of its progress; one that is `alone` runs beside no other; behind a `last` one the run is to end
//   answers    [{ text?, calls?: [[id, name, arguments]], ends?, error?, seconds?, stalls?, unstarted?, tokens?, output? }]  one a turn; `stalls`: silence
//              behind the first piece, until somebody stops it; `unstarted`: it fails before anything came
//   summaries  the same, where the model is asked for a summary
//   steps      ["prompt", text] waits until all has settled, ["submit", text] does not; ["until", facts] waits for an event with these facts;
//              ["steer", text] | ["follow_up", text] | ["abort"] | ["settle"] | ["compact"] waits, ["compacting"] does not; what is refused is told
//              by events, or not at all
//
// Seconds are virtual: who naps is woken, the earliest first, once nothing else happens and the story waits for what comes. The waits that Pi
// makes between attempts are real ones.

import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const root = process.env.PI_ROOT;
if (!root) throw new Error("PI_ROOT is not set");
for (const level of ["log", "info", "debug", "warn"]) console[level] = console.error; // stdout is for answers only

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "pi-events-"));
process.on("exit", () => fs.rmSync(scratch, { recursive: true, force: true }));
const cwd = path.join(scratch, "cwd");
const agentDir = path.join(scratch, "agent");
for (const folder of [cwd, agentDir]) fs.mkdirSync(folder);
process.env.PI_CODING_AGENT_DIR = agentDir;
process.env.HOME = scratch;

// Each look at the clock is a millisecond later than the last one: Pi compares the times of entries and messages.
let now = Date.parse("2026-01-01T00:00:00Z");
globalThis.Date = class extends Date {
  constructor(...given) {
    super(...(given.length > 0 ? given : [Date.now()]));
  }
  static now() {
    return (now += 1);
  }
};

const load = (file) => import(pathToFileURL(path.join(root, "node_modules", "@earendil-works", file)).href);
const { createProvider } = await load("pi-ai/dist/index.js");
const { createAssistantMessageEventStream } = await load("pi-ai/dist/utils/event-stream.js");
const { ModelRuntime } = await load("pi-coding-agent/dist/core/model-runtime.js");
const { SessionManager } = await load("pi-coding-agent/dist/core/session-manager.js");
const { SettingsManager } = await load("pi-coding-agent/dist/core/settings-manager.js");
const { DefaultResourceLoader } = await load("pi-coding-agent/dist/core/resource-loader.js");
const { createAgentSession } = await load("pi-coding-agent/dist/core/sdk.js");

// --- time --------------------------------------------------------------------------------------------------------------------

const QUIET = 20; // rounds of the event loop in which nothing is told: Pi waits for no file and no socket in the middle of a run

class Time {
  now = 0;
  naps = [];

  /** So many virtual seconds, or until somebody stops it. */
  sleep(seconds, signal) {
    return new Promise((wake) => {
      this.naps.push({ due: this.now + seconds, wake });
      signal?.addEventListener("abort", wake, { once: true });
    });
  }

  /** Lets things happen until `isOver()`; `count()` grows with each of them. */
  async pass(isOver, count) {
    for (let quiet = 0, seen = count(); !isOver(); quiet += 1) {
      await new Promise(setImmediate);
      if (count() !== seen) [quiet, seen] = [0, count()];
      if (quiet < QUIET || this.naps.length === 0) continue;
      this.naps.sort((one, other) => one.due - other.due);
      const { due, wake } = this.naps.shift();
      this.now = Math.max(this.now, due);
      wake();
      quiet = 0;
    }
  }
}

// --- the model ---------------------------------------------------------------------------------------------------------------

const FREE = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };

/** Answers from the story; a summary is asked for with the whole conversation inside one text. */
function speaking(story, time, told) {
  const answers = [...story.answers];
  const summaries = [...story.summaries];
  return (model, context, { signal } = {}) => {
    const asked = JSON.stringify(context.messages.at(-1)?.content ?? "");
    const from = asked.includes("<conversation>") ? summaries : answers;
    if (from === answers && answers.length === 0) told.push({ type: "unanswered" }); // the story is wrong
    const answer = from.shift() ?? { error: "the story has no answer left" };
    const events = createAssistantMessageEventStream();
    queueMicrotask(() => speak(events, model, answer, time, signal));
    return events;
  };
}

async function speak(events, model, answer, time, signal) {
  const { text, calls = [], ends = calls.length > 0 ? "toolUse" : "stop", error, seconds, stalls, tokens = 0, output = 0 } = answer;
  const content = [
    ...(text ? [{ type: "text", text }] : []),
    ...calls.map(([id, name, given]) => ({ type: "toolCall", id, name, arguments: given })),
  ];
  const { api, provider } = model;
  const usage = { input: tokens - output, output, cacheRead: 0, cacheWrite: 0, totalTokens: tokens, cost: FREE };
  const message = { role: "assistant", content, api, provider, model: model.id, usage, stopReason: ends };
  message.timestamp = Date.now();
  const partial = (blocks) => ({ ...message, content: content.slice(0, blocks), stopReason: "pending" });
  const finish = (reason, words) => {
    const whole = { ...message, stopReason: reason, ...(words ? { errorMessage: words } : {}) };
    events.push(words ? { type: "error", reason, error: whole } : { type: "done", reason, message: whole });
    events.end(whole);
  };
  if (!answer.unstarted) events.push({ type: "start", partial: partial(0) });
  if (seconds) await time.sleep(seconds, signal);
  if (signal?.aborted) return finish("aborted", "stopped");
  for (const [contentIndex, block] of content.entries()) {
    const common = { contentIndex, partial: partial(contentIndex + 1) };
    const kind = block.type === "text" ? "text" : "toolcall";
    events.push({ type: `${kind}_start`, ...common });
    events.push({ type: `${kind}_delta`, delta: block.text ?? JSON.stringify(block.arguments), ...common });
    if (stalls) {
      await new Promise((stopped) => signal.addEventListener("abort", stopped, { once: true }));
      return finish("aborted", "stopped");
    }
    events.push({ type: `${kind}_end`, ...(kind === "text" ? { content: text } : { toolCall: block }), ...common });
  }
  return error ? finish("error", error) : finish(ends);
}

const tooling = (time) => ({ name, seconds, fails, tells, alone, last }) => ({
  name,
  label: name,
  executionMode: alone ? "sequential" : "parallel",
  description: name,
  parameters: { type: "object", properties: { n: { type: "number" } } },
  execute: async (_id, _given, signal, update) => {
    if (tells) update({ content: [{ type: "text", text: tells }] });
    if (seconds) await time.sleep(seconds, signal);
    if (signal?.aborted) throw new Error("stopped");
    if (fails) throw new Error(fails);
    return { content: [{ type: "text", text: "done" }], terminate: last };
  },
});

// --- what is told ------------------------------------------------------------------------------------------------------------

const message = ({ message: { role, toolCallId, isError } }) => ({ role, toolCallId, isError });
const execution = ({ toolCallId, toolName, isError }) => ({ toolCallId, toolName, isError });

/** The facts that are kept of an event; what is undefined is left out. */
const FACTS = {
  turn_start: (_event, turnIndex) => ({ turnIndex }),
  turn_end: (event) => ({ stopReason: event.message.stopReason, calls: event.toolResults.map((one) => one.toolCallId) }),
  message_start: message,
  message_update: (event) => ({ piece: event.assistantMessageEvent.type }),
  message_end: (event) => ({ ...message(event), stopReason: event.message.stopReason }),
  tool_execution_start: execution,
  tool_execution_update: execution,
  tool_execution_end: execution,
  agent_end: (event) => ({ willRetry: event.willRetry, roles: event.messages.map((one) => one.role) }),
  agent_settled: ({ aborted }) => ({ aborted }),
  queue_update: ({ steering, followUp }) => ({ steering, followUp }),
  entry_appended: ({ entry }) => ({ kind: entry.type }),
  compaction_start: ({ reason }) => ({ reason }),
  compaction_end: ({ reason, result, aborted, willRetry, errorMessage }) => {
    return { reason, done: !!result, aborted, willRetry, failed: errorMessage !== undefined };
  },
  auto_retry_start: ({ attempt, maxAttempts }) => ({ attempt, maxAttempts }),
  auto_retry_end: ({ success, attempt }) => ({ success, attempt }),
};

// --- a story -----------------------------------------------------------------------------------------------------------------

function remembering(past) {
  const manager = SessionManager.inMemory(cwd);
  for (const [role, text, tokens] of past) {
    const spoken = { role, content: [{ type: "text", text }], timestamp: Date.now() };
    const usage = { input: tokens, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: tokens, cost: FREE };
    const answer = { api: "story-api", provider: "story", model: "talker", stopReason: "stop", usage };
    manager.appendMessage(role === "user" ? spoken : { ...spoken, ...answer });
  }
  return manager;
}

async function opened(story, time, told) {
  const stream = speaking(story, time, told);
  const model = { id: "talker", name: "talker", api: "story-api", provider: "story", baseUrl: "story:", reasoning: false };
  Object.assign(model, { input: ["text"], cost: FREE, contextWindow: story.window, maxTokens: 400 });
  const modelRuntime = await ModelRuntime.create({
    authPath: path.join(agentDir, "auth.json"),
    modelsPath: path.join(agentDir, "models.json"),
  });
  const auth = { apiKey: { name: "Story", resolve: async () => ({ auth: { apiKey: "none" } }) } };
  const api = { stream, streamSimple: stream };
  modelRuntime.registerNativeProvider(createProvider({ id: "story", auth, models: [model], api }));
  await modelRuntime.checkAuth("story");
  const settingsManager = SettingsManager.inMemory({ retry: { baseDelayMs: 1 }, ...story.settings });
  let turnIndex; // told to extensions alone, and to them first
  const resourceLoader = new DefaultResourceLoader({
    cwd,
    agentDir,
    settingsManager,
    noExtensions: true,
    noSkills: true,
    noContextFiles: true,
    noPromptTemplates: true,
    systemPrompt: "You answer.",
    extensionFactories: [
      (pi) => {
        pi.on("turn_start", (event) => {
          turnIndex = event.turnIndex;
        });
      },
    ],
  });
  await resourceLoader.reload();
  const { session } = await createAgentSession({
    cwd,
    agentDir,
    modelRuntime,
    settingsManager,
    resourceLoader,
    sessionManager: remembering(story.past),
    model: modelRuntime.getModel("story", "talker"),
    noTools: "builtin",
    customTools: story.tools.map(tooling(time)),
  });
  await session.bindExtensions({ onError: (error) => told.push({ type: "extension_error", error }) });
  session.subscribe((event) => told.push({ type: event.type, ...FACTS[event.type]?.(event, turnIndex) }));
  return session;
}

const fits = (event, facts) => Object.entries(facts).every(([name, value]) => event[name] === value);

async function play({ story }) {
  const told = [];
  const time = new Time();
  const session = await opened(story, time, told);
  const ends = (work) => {
    let over = false;
    const end = () => (over = true);
    work.then(end, end);
    return time.pass(() => over, () => told.length);
  };
  const running = [];
  const begin = (work) => void running.push(work.catch(() => {})); // a refusal is told by events, or not at all
  let read = 0; // what was waited for lies before this
  const steps = {
    submit: (text) => begin(session.prompt(text)),
    prompt: async (text) => {
      steps.submit(text);
      await steps.settle();
    },
    settle: async () => {
      await ends(Promise.all(running));
      await ends(session.waitForIdle());
      read = told.length;
    },
    until: async (facts) => {
      const next = () => told.findIndex((event, at) => at >= read && fits(event, facts));
      await time.pass(() => next() >= 0, () => told.length);
      read = next() + 1;
    },
    steer: (text) => session.steer(text),
    follow_up: (text) => session.followUp(text),
    abort: () => ends(session.abort()),
    compact: () => ends(session.compact()),
    compacting: () => begin(session.compact()),
  };
  for (const [what, ...given] of story.steps) {
    if (!Object.hasOwn(steps, what)) throw new Error(`No such step: ${what}`);
    await steps[what](...given);
  }
  await steps.settle();
  session.dispose();
  return { events: told };
}

const ANSWER = { play };

for await (const line of readline.createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  if (!line.trim()) continue;
  let answer;
  try {
    const question = JSON.parse(line);
    if (!Object.hasOwn(ANSWER, question.op)) throw new Error(`No such op: ${question.op}`);
    answer = await ANSWER[question.op](question);
  } catch (error) {
    answer = { error: error?.message ?? String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
