import bidsPerWindow from "./bids-per-window.sql?raw";
import cdc from "./cdc.sql?raw";
import expensiveBids from "./expensive-bids.sql?raw";
import files from "./files.sql?raw";
import kafkaOrders from "./kafka-orders.sql?raw";
import ordersPerMinute from "./orders-per-minute.sql?raw";
import sellers from "./sellers.sql?raw";
import udf from "./udf.sql?raw";
import updating from "./updating.sql?raw";

export interface Example {
  name: string;
  about: string;
  query: string;
  /** What it needs beside the control plane; null of one that runs as it is. */
  needs: string | null;
}

/** Scripts to begin with. Those that need nothing make up their rows and show what they compute. */
export const EXAMPLES: readonly Example[] = [
  { name: "bids-per-window", about: "Bids per auction in windows", query: bidsPerWindow, needs: null },
  { name: "expensive-bids", about: "Bids above a price, row by row", query: expensiveBids, needs: null },
  { name: "sellers", about: "Two streams joined in windows", query: sellers, needs: null },
  { name: "orders-per-minute", about: "A counter, minute by minute", query: ordersPerMinute, needs: null },
  { name: "bids-so-far", about: "Counts that are updated as bids come", query: updating, needs: null },
  { name: "kafka-orders", about: "Kafka to Kafka, summed per minute", query: kafkaOrders, needs: "a Kafka broker" },
  { name: "cdc-revenue", about: "Changes of a database (Debezium), kept up to date", query: cdc, needs: "a Kafka broker" },
  { name: "clean-files", about: "Files that arrive in a directory, to Parquet", query: files, needs: "a directory" },
  { name: "python-function", about: "A Python function over each row", query: udf, needs: "a stored function" },
];
