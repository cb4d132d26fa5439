DROP TABLE IF EXISTS history, account, teller, branch CASCADE;
