import bidsPerWindow from "./bids-per-window.sql?raw";
import expensiveBids from "./expensive-bids.sql?raw";
import ordersPerMinute from "./orders-per-minute.sql?raw";
import sellers from "./sellers.sql?raw";

/** Scripts that run as they are: their sources make up their rows, and their sinks show them. */
export const EXAMPLES: readonly { name: string; about: string; query: string }[] = [
  { name: "bids-per-window", about: "Bids per auction in windows", query: bidsPerWindow },
  { name: "expensive-bids", about: "Bids above a price, row by row", query: expensiveBids },
  { name: "sellers", about: "Two streams joined in windows", query: sellers },
  { name: "orders-per-minute", about: "A counter, minute by minute", query: ordersPerMinute },
];
