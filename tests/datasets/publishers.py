"""Files in the publishers' formats, with made-up people."""

from __future__ import annotations

import csv
import io


def kept(cache) -> list[str]:
    return sorted(path.name for path in cache.iterdir()) if cache.exists() else []


COMPAS_COLUMNS = (
    "id,name,first,last,compas_screening_date,sex,dob,age,age_cat,race,juv_fel_count,decile_score,"
    "juv_misd_count,juv_other_count,priors_count,days_b_screening_arrest,c_jail_in,c_jail_out,"
    "c_case_number,c_offense_date,c_arrest_date,c_days_from_compas,c_charge_degree,c_charge_desc,"
    "is_recid,num_r_cases,r_case_number,r_charge_degree,r_days_from_arrest,r_offense_date,"
    "r_charge_desc,r_jail_in,r_jail_out,is_violent_recid,num_vr_cases,vr_case_number,"
    "vr_charge_degree,vr_offense_date,vr_charge_desc,v_type_of_assessment,v_decile_score,"
    "v_score_text,v_screening_date,type_of_assessment,decile_score,score_text,screening_date"
)
COMPAS_HEADER = COMPAS_COLUMNS.split(",")


def defendant(**fields: object) -> dict[str, object]:
    blank = dict.fromkeys(COMPAS_HEADER, "")
    person = {
        "id": 1,
        "name": "jane doe",
        "compas_screening_date": "2013-08-14",
        "sex": "Female",
        "dob": "1980-01-01",
        "age": 33,
        "age_cat": "25 - 45",
        "race": "Caucasian",
        "juv_fel_count": 0,
        "decile_score": 7,
        "juv_misd_count": 0,
        "juv_other_count": 1,
        "priors_count": 2,
        "days_b_screening_arrest": -1,
        "c_jail_in": "2013-08-13 06:00:00",
        "c_jail_out": "2013-08-14 18:00:00",
        "c_case_number": "13000000CF10A",
        "c_days_from_compas": 1,
        "c_charge_degree": "F",
        "c_charge_desc": "Poss 3,4 Something",
        "is_recid": 1,
        "r_charge_degree": "M",
        "r_offense_date": "2014-01-01",
        "is_violent_recid": 0,
        "v_decile_score": 3,
        "v_score_text": "Low",
        "score_text": "High",
    }
    return blank | person | fields


DEFENDANTS = [
    defendant(),
    defendant(id=2, race="African-American", is_recid=0, sex="Male"),
    defendant(id=3, race="Hispanic"),  # of another race
    defendant(id=4, days_b_screening_arrest=31),  # screened too late
    defendant(id=5, days_b_screening_arrest="", c_jail_in="", c_jail_out=""),  # never in jail
    defendant(id=6, is_recid=-1),  # outcome unknown
    defendant(id=7, c_charge_degree="O"),  # traffic
    defendant(id=8, score_text="N/A", decile_score=-1),  # no score
]


def compas_csv(people=DEFENDANTS) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(COMPAS_HEADER)
    for person in people:
        # decile_score is there twice, as published
        writer.writerow([person[name] for name in COMPAS_HEADER])
    return text.getvalue().encode()


LAW_COLUMNS = (
    "decile1b,decile3,id,decile1,sex,race,cluster,lsat,ugpa,zfygpa,dob_yr,grad,zgpa,bar1,bar1_yr,"
    "bar2,bar2_yr,fulltime,fam_inc,age,gender,parttime,male,race1,race2,dropout,other,asian,black,"
    "hisp,pass_bar,bar,tier,index604,indxgrp,indxgrp2"
)


def student(**fields: object) -> str:
    # Numbers that are not known are a blank, words are nothing at all, and deciles have a zero.
    blank = dict.fromkeys(LAW_COLUMNS.split(","), " ")
    words = {"bar1": "", "bar2": "", "bar": "", "decile1b": "", "decile3": "", "decile1": "07"}
    made_up = {"lsat": 33.5, "ugpa": 2.75, "dob_yr": 66, "gender": "female", "pass_bar": 1}
    person = blank | words | made_up | {"race1": "white", "fulltime": 1, "tier": 3} | fields
    return ",".join(map(str, person.values()))


LAW_CSV = "\n".join(
    [
        LAW_COLUMNS,
        student(id=1),
        student(id=2, race1="black", gender="male", lsat=28, ugpa=" ", pass_bar=0),
        student(id=3, race1="asian"),  # of another race
        student(id=4, pass_bar=" "),  # outcome unknown
        student(id=5, gender=""),  # gender unknown
        "",
    ]
).encode()
DUTCH_ARFF = b"""\
@relation dutch_census_data-weka.filters

@attribute sex {2,1}
@attribute age {17,15,16,13,14,11,12,3,2,1,10,7,6,5,4,9,8}
@attribute household_position {1110,1132,1210,1131,1121,1140,1122,1220}
@attribute household_size {125,126,114,112,113,111}
@attribute prev_residence_place {2,1,9}
@attribute citizenship {3,2,1}
@attribute country_birth {3,2,1}
@attribute edu_level {3,2,1,0,5,4,9}
@attribute economic_status {221,222,210,223,112,224,111,120}
@attribute cur_eco_activity {134,135,132,133,138,122,139,200,136,137,124,111,131}
@attribute Marital_status {3,2,1,4}
@attribute occupation {5_4_9,2_1}

@data

1,6,1220,126,2,3,3,0,112,200,3,2_1
2,10,1220,126,2,3,3,0,112,200,3,5_4_9
2,9,1220,126,2,3,3,0,112,200,3,2_1
"""
GERMAN_DATA = b"""\
A14 10 A30 A48 1000 A65 A71 1 A91 A103 1 A124 60 A141 A153 1 A174 1 A192 A202 1
A14 20 A30 A48 2000 A65 A71 1 A92 A103 1 A124 25 A141 A153 1 A174 1 A192 A202 2
"""
