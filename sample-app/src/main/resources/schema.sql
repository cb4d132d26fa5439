-- The tables of TPC-B, for H2 and PostgreSQL. Balances are in cents.

CREATE TABLE IF NOT EXISTS branch (
  id BIGINT PRIMARY KEY,
  balance BIGINT DEFAULT 0 NOT NULL
);

CREATE TABLE IF NOT EXISTS teller (
  id BIGINT PRIMARY KEY,
  branch_id BIGINT NOT NULL REFERENCES branch (id),
  balance BIGINT DEFAULT 0 NOT NULL
);

CREATE TABLE IF NOT EXISTS account (
  id BIGINT PRIMARY KEY,
  branch_id BIGINT NOT NULL REFERENCES branch (id),
  balance BIGINT DEFAULT 0 NOT NULL
);

CREATE TABLE IF NOT EXISTS history (
  id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  account_id BIGINT NOT NULL REFERENCES account (id),
  teller_id BIGINT NOT NULL REFERENCES teller (id),
  branch_id BIGINT NOT NULL REFERENCES branch (id),
  delta BIGINT NOT NULL,
  created TIMESTAMP WITH TIME ZONE DEFAULT CURRENT_TIMESTAMP NOT NULL
);

-- Which order a transaction has carried out, and with what result: no order is carried
-- out twice, whichever back end it comes to.
ALTER TABLE history ADD COLUMN IF NOT EXISTS order_id UUID UNIQUE;
ALTER TABLE history ADD COLUMN IF NOT EXISTS balance BIGINT;
