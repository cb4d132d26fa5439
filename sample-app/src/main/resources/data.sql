-- 1 branch, 10 tellers and 10,000 accounts for each unit of ${scale}, numbered from 1.
-- Only what lacks is inserted, so it can run at every start.

INSERT INTO branch (id)
WITH RECURSIVE number (id) AS (
  SELECT 1 UNION ALL SELECT id + 1 FROM number WHERE id < ${scale}
)
SELECT id FROM number
WHERE id > (SELECT COALESCE(MAX(id), 0) FROM branch);

INSERT INTO teller (id, branch_id)
WITH RECURSIVE number (id) AS (
  SELECT 1 UNION ALL SELECT id + 1 FROM number WHERE id < 10
)
SELECT (branch.id - 1) * 10 + number.id, branch.id FROM branch CROSS JOIN number
WHERE branch.id > (SELECT COALESCE(MAX(branch_id), 0) FROM teller);

INSERT INTO account (id, branch_id)
WITH RECURSIVE number (id) AS (
  SELECT 1 UNION ALL SELECT id + 1 FROM number WHERE id < 10000
)
SELECT (branch.id - 1) * 10000 + number.id, branch.id FROM branch CROSS JOIN number
WHERE branch.id > (SELECT COALESCE(MAX(branch_id), 0) FROM account);
