// What the binary answers (docs/dashboard.md), and how it is asked.

export interface Point {
  round: number;
  loss: number | null;
  accuracy_before: number | null;
  accuracy_after: number | null;
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

export interface Algorithm {
  label: string;
  rounds: number;
  seconds: number;
  seconds_per_round: number;
  last: Point | null;
  best: Point | null;
  clients: number;
  clients_left_out: number;
  strategies: Record<string, number>;
  alarms: number;
  alarms_so_far: number;
  drops: number;
  bytes_up: number;
  bytes_down: number;
  client_rows: number;
  mixing: number[];
  profiles: number[];
  epsilon: { known: number; most: number; bins: number[] } | null;
  result: Record<string, number | string | null | Record<string, number | null>> | null;
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

export interface ClientRow {
  client: number;
  strategy: string | null;
  moved: number | null;
  alarm: boolean;
  alarms: number;
  last_alarm: number;
  rounds: number;
  last_round: number;
  last_time: number | null;
  heard_seconds: number | null;
  bytes_up: number;
  bytes_down: number;
  drops: number;
  last_drop: number;
  reason: string | null;
  epsilon: number | null;
  distribution?: number | null;
  num_examples?: number;
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
  round: number;
  rounds: number[];
  of: number;
  alarm_above: number;
  explained: [number, number];
  clients: ProfileClient[];
}

/** Asks for data; an answer that is no success is an error with the server's own words. */
export async function ask<T>(what: string, query: Record<string, string | number> = {}): Promise<T> {
  const text = new URLSearchParams(Object.entries(query).map(([key, value]) => [key, String(value)])).toString();
  const response = await fetch(`/api/v1/${what}${text ? "?" + text : ""}`);
  const body = await response.json();
  if (!response.ok) {
    throw new Error(body.error ?? `the server says ${response.status}`);
  }
  return body as T;
}

/** Follows the run; the browser connects again by itself, and the server then sends what was missed. */
export function follow(onRun: (run: Run) => void, onConnection: (connected: boolean) => void): void {
  const stream = new EventSource("/api/v1/stream");
  stream.addEventListener("run", (event) => {
    onConnection(true);
    onRun(JSON.parse((event as MessageEvent<string>).data) as Run);
  });
  stream.addEventListener("open", () => onConnection(true));
  stream.addEventListener("error", () => {
    onConnection(false);
    // After an answer that is no stream (a lost token, too many pages) the browser gives up; we do not.
    if (stream.readyState === EventSource.CLOSED) {
      setTimeout(() => follow(onRun, onConnection), 5000);
    }
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
