// What the binary answers (docs/dashboard.md), and how it is asked.

export interface Point {
  round: number;
  loss: number | null;
  accuracy_before: number | null;
  accuracy_after: number | null;
  test_accuracy: number | null;
  validation_accuracy: number | null;
  global_share: number | null;
  clustered_share: number | null;
  personal_share: number | null;
  seconds: number | null;
  bytes_up: number;
  bytes_down: number;
  epsilon: number | null;
  dropped: number;
  alarms: number;
}

/** The first and the last of consecutive rounds. */
export type Range = [first: number, last: number];

export interface Algorithm {
  label: string;
  rounds: number;
  seconds: number;
  seconds_per_round: number;
  last: Point | null;
  tested: Point | null; // the last round that was tested
  best: Point | null; // by test accuracy, else as served
  clients: number;
  more_clients: boolean; // than have rows
  strategies: Record<string, number>;
  alarms: number;
  alarms_so_far: number;
  drift_known?: number; // clients of the newest round
  drops: number;
  bytes_up: number;
  bytes_down: number;
  client_rows: number;
  mixing: Range[];
  profiles: Range[];
  epsilon: { known: number; most: number; bins: number[] } | null;
  result: Record<string, number | string | null | Record<string, number | null>> | null;
}

/** Whether an algorithm had no meaning in this run and was passed over. */
export function isLeftOut(algorithm: Algorithm): boolean {
  return typeof algorithm.result?.not_applicable === "string";
}

/** What stands for a round: its test accuracy or, where there is none, how accurate clients were with what they were given. */
export function headline(point: Point | null | undefined): number | null {
  return point?.test_accuracy ?? point?.accuracy_before ?? null;
}

/** What a headline is. */
export function headlineName(point: Point | null | undefined): string {
  return typeof point?.test_accuracy === "number" ? "on test clients" : "as served";
}

export interface Health {
  uptime_seconds: number;
  healthy: boolean;
  reason: string;
  draining: boolean;
  round: number;
  phase: number;
  rounds_finished: number;
  rounds_planned: number;
  clients: number;
  connections: number;
  connections_made: number;
  answers: Record<string, number>;
  refused: Record<string, number>;
  bytes_up: number;
  bytes_down: number;
  memory_bytes: number;
  descriptors: number;
  threads: number;
}

export interface Run {
  api: number;
  version: string;
  name: string;
  epoch: number;
  state: "waiting" | "running" | "stopped" | "finished";
  federation: boolean;
  read_bytes: number;
  size_bytes: number;
  resumed: number;
  config: Record<string, string>;
  planned: { rounds: number | null; clients: number | null; algorithms: number };
  privacy: {
    mode: string;
    guarded: boolean;
    counts_told: boolean;
    accuracy_told: boolean;
    epsilon_total: number | null;
    delta_total: number | null;
    noise: string;
  };
  algorithms: Algorithm[];
  refusals?: number | null; // what a running server refused of clients
  damage: { count: number; first: string[] };
  server: Health | null;
}

type Column = (number | null)[];
export interface History {
  algorithm: string;
  of: number;
  thinned: boolean;
  columns: Partial<Record<keyof Point | "low" | "middle" | "high" | "clients", Column>>;
}

/** Of a client that is connected and took part in no round yet, much is null. */
export interface ClientRow {
  client: number;
  strategy: string | null;
  moved: number | null;
  alarm: boolean | null;
  alarms: number | null;
  last_alarm: number | null;
  rounds: number | null;
  last_round: number | null;
  last_time: number | null;
  heard_seconds: number | null;
  bytes_up: number | null;
  bytes_down: number | null;
  drops: number | null;
  last_drop: number | null;
  reason: string | null;
  refused?: number | null;
  epsilon: number | null;
  distribution?: number | null;
  num_examples?: number | null;
  loss?: number | null;
  accuracy_before?: number | null;
  accuracy_after?: number | null;
}

export interface Clients {
  of: number;
  matching: number;
  page: number;
  size: number;
  sort: string;
  order: "ascending" | "descending";
  counts_told: boolean;
  alarm_above: number;
  connected: number;
  rows: ClientRow[];
}

export interface Mixing {
  algorithm: string;
  round: number;
  receivers_of: number;
  sources_of: number;
  receivers: [number, number][];
  sources: [number, number][];
  weights: (number | null)[];
}

export interface ProfileClient {
  client: number;
  strategy: string | null;
  distribution: number | null;
  moved: number | null;
  path: ([number, number] | null)[];
}

export interface Profiles {
  algorithm: string;
  round: number;
  rounds: number[];
  of: number;
  alarm_above: number;
  explained: [number, number];
  clients: ProfileClient[];
}

/** The server heard and said no, in its own words. */
export class Refusal extends Error {}

/** Asks for data; an answer that is no success is a refusal. */
export async function ask<T>(what: string, query: Record<string, string | number> = {}): Promise<T> {
  const text = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)])).toString();
  const response = await fetch(`/api/v1/${what}${text ? "?" + text : ""}`);
  if (!response.ok) {
    // What stands between us and the server may answer in other words than ours.
    const body = (await response.json().catch(() => null)) as { error?: string } | null;
    throw new Refusal(body?.error ?? `the answer has status ${response.status}`);
  }
  return (await response.json()) as T;
}

/** How the page hears of the run. */
export type Connection =
  | { kind: "told" } // of everything, at once
  | { kind: "asking" } // now and then, since the server follows as many pages as it can
  | { kind: "refused"; why: string }
  | { kind: "lost" };

const betweenTries = 5000; // milliseconds

/** Follows the run; the browser connects again by itself, and the server then sends what was missed. */
export function follow(onRun: (run: Run) => void, onConnection: (connection: Connection) => void): void {
  const stream = new EventSource("/api/v1/stream");
  stream.addEventListener("run", (event) => {
    onConnection({ kind: "told" });
    onRun(JSON.parse((event as MessageEvent<string>).data) as Run);
  });
  stream.addEventListener("open", () => onConnection({ kind: "told" }));
  stream.addEventListener("error", () => {
    if (stream.readyState !== EventSource.CLOSED) {
      onConnection({ kind: "lost" });
      return;
    }
    // After an answer that is no stream (too many pages, a token that holds no more) the browser gives up and tells no
    // reason. A plain question gets the data or the reason; then all is tried again.
    void ask<Run>("run").then(
      (run) => {
        onConnection({ kind: "asking" });
        onRun(run);
      },
      (error: unknown) => onConnection(error instanceof Refusal ? { kind: "refused", why: error.message } : { kind: "lost" }),
    );
    setTimeout(() => follow(onRun, onConnection), betweenTries);
  });
}

/** Lets one request at a time run, and after it the last one that was wished meanwhile. */
export function latest<A>(work: (argument: A) => Promise<void>): (argument: A) => void {
  let busy = false;
  let waiting: { argument: A } | null = null;
  const start = async (argument: A) => {
    busy = true;
    try {
      await work(argument);
    } finally {
      busy = false;
      if (waiting) {
        const next = waiting;
        waiting = null;
        void start(next.argument);
      }
    }
  };
  return (argument) => {
    if (busy) {
      waiting = { argument };
    } else {
      void start(argument);
    }
  };
}
