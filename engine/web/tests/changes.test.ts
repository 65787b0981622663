import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ChangeStream, type Source } from "../src/api/changes";

type Heard = (event: { data: string; lastEventId: string }) => void;

class Scripted implements Source {
  readyState = 1;
  private readonly heard = new Map<string, Heard>();
  constructor(readonly cursor: string | null) {}
  addEventListener(kind: string, heard: Heard): void {
    this.heard.set(kind, heard);
  }
  close(): void {
    this.readyState = 2;
  }
  say(kind: string, id = "", name = ""): void {
    this.heard.get(kind)!({ data: JSON.stringify({ pipeline_id: `pl_${name}`, pipeline: name }), lastEventId: id });
  }
  breakOff(isForGood: boolean): void {
    this.readyState = isForGood ? 2 : 0;
    this.say("error");
  }
}

function watched() {
  const opened: Scripted[] = [];
  const state = { isShown: true };
  const stream = new ChangeStream(
    (cursor) => {
      opened.push(new Scripted(cursor));
      return opened.at(-1)!;
    },
    () => state.isShown,
  );
  const told: (string | null)[] = [];
  const leave = stream.subscribe((changed) => told.push(changed === null ? null : changed.name));
  return { stream, opened, state, told, leave };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("what is there already is told as one thing, and each change after it by name", () => {
  const { stream, opened, told } = watched();
  opened[0]!.say("change", "log-1", "orders");
  opened[0]!.say("change", "log-2", "clicks");
  expect([stream.isLive, told]).toEqual([false, []]);

  opened[0]!.say("ready", "log-2");
  opened[0]!.say("change", "log-3", "orders");

  expect([stream.isLive, told]).toEqual([true, [null, "orders"]]);
});

test("a stream that breaks off leaves it to asking, goes on behind its cursor, and says that it is back", () => {
  const { stream, opened, told } = watched();
  opened[0]!.say("ready", "log-2");
  opened[0]!.breakOff(false);
  expect([stream.isLive, told]).toEqual([false, [null, null]]);

  opened[0]!.say("change", "log-3", "orders"); // the browser has come back by itself
  opened[0]!.say("ready", "log-3");

  expect([stream.isLive, opened.length, told]).toEqual([true, 1, [null, null, "orders", null]]);
});

test("one that the browser gives up is opened anew, each time later, behind the cursor", () => {
  const { opened } = watched();
  opened[0]!.say("ready", "log-7");
  opened[0]!.breakOff(true);
  vi.advanceTimersByTime(1_999);
  expect(opened).toHaveLength(1);
  vi.advanceTimersByTime(1);
  expect(opened.map(({ cursor }) => cursor)).toEqual([null, "log-7"]);

  opened[1]!.breakOff(true);
  vi.advanceTimersByTime(3_999);
  expect(opened).toHaveLength(2);
  vi.advanceTimersByTime(1);
  expect(opened).toHaveLength(3);
});

test("what is not known any more begins anew", () => {
  const { opened, told } = watched();
  opened[0]!.say("ready", "log-7");
  opened[0]!.say("reset");
  opened[0]!.say("change", "other-1", "orders");
  opened[0]!.say("ready", "other-1");

  expect(told).toEqual([null, null]);
});

test("a page that is hidden, or left, holds no connection", () => {
  const { stream, opened, state, told, leave } = watched();
  opened[0]!.say("ready", "log-7");
  state.isShown = false;
  stream.look();
  expect([opened[0]!.readyState, stream.isLive]).toEqual([2, false]);
  opened[0]!.say("change", "log-8", "orders"); // on its way already
  expect(told).toEqual([null]);

  state.isShown = true;
  stream.look();
  expect(opened[1]!.cursor).toBe("log-7");
  leave();
  expect(opened[1]!.readyState).toBe(2);
});

test("nothing is opened behind a page that was left while it rested", () => {
  const { opened, leave } = watched();
  opened[0]!.breakOff(true);
  leave();
  vi.advanceTimersByTime(100_000);

  expect(opened).toHaveLength(1);
});

function asked() {
  let arrive = () => {};
  const first = new Promise<void>((resolve) => (arrive = resolve));
  const opened: Scripted[] = [];
  const stream = new ChangeStream(
    (cursor) => (opened.push(new Scripted(cursor)), opened.at(-1)!),
    () => true,
  );
  return { stream, opened, first, arrive };
}

test("no stream is opened for anybody before what somebody asks for first is there", async () => {
  const { stream, opened, first, arrive } = asked();
  stream.subscribe(() => undefined, first);
  stream.subscribe(() => undefined);
  await vi.runAllTimersAsync();
  expect(opened).toHaveLength(0);

  arrive();
  await vi.runAllTimersAsync();
  expect(opened).toHaveLength(1);
});

test("whoever asks for something while the stream is open is told meanwhile", async () => {
  const { stream, opened, first, arrive } = asked();
  const told: (string | undefined)[] = [];
  stream.subscribe(() => undefined);
  opened[0]!.say("ready", "log-2");
  stream.subscribe((changed) => told.push(changed?.name), first);
  opened[0]!.say("change", "log-3", "orders");
  arrive();
  await vi.runAllTimersAsync();

  expect([told, opened.length, opened[0]!.readyState]).toEqual([["orders"], 1, 1]);
});

test("whoever has left before it was answered has no stream opened", async () => {
  const { stream, opened, first, arrive } = asked();
  stream.subscribe(() => undefined, first)();
  arrive();
  await vi.runAllTimersAsync();

  expect(opened).toHaveLength(0);
});
